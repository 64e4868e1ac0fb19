"""From what was asked for to what is run: where backends come from, what predicts, which arms."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cachediag.analysis.choice import Choice, choose
from cachediag.backends import recognise
from cachediag.backends.sandbox import MODEL_SPEC, Engine, Sandbox
from cachediag.errors import InputError, UpstreamError, UsageError
from cachediag.fix.patch import Installation, Options, in_force, of_python, state_of
from cachediag.model import Endpoint
from cachediag.rules.rule import RuleSet
from cachediag.session import Source
from cachediag.verify.arms import ARMS, Arm
from cachediag.verify.backends import Given, Place, Sandboxed, Served
from cachediag.verify.naming import model_name
from cachediag.verify.serving import PORT, interpreter

__all__ = ["PATCHED", "Setup", "Wanted", "setup"]


PATCHED = f"conversation-slots:slots={Options().slots}"
"""The cache model of a patched vllm-mlx."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for; None where nothing was."""

    backend: str | None = None
    sandbox: str | None = None
    serve_cmd: str | None = None
    python: Path | None = None
    """The interpreter that `serve_cmd` runs."""
    log: Path | None = None
    profile: str | None = None
    model: str | None = None
    engine: str | None = None
    request_model: str | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """What an experiment is run with."""

    place: Place
    choices: Mapping[bool, Choice]
    """What predicts, without and with the patch."""
    arms: tuple[Arm, ...]


def setup(
    wanted: Wanted,
    opened: Source,
    endpoint: Endpoint,
    ruleset: RuleSet | None,
    tell: Callable[[str], None],
) -> Setup:
    """Find out what is run.

    Args:
        wanted: what was asked for.
        opened: the session.
        endpoint: what its requests call.
        ruleset: the rules; None runs no arm with rules.
        tell: told what the sandbox does.

    Raises:
        UsageError: not one backend is named, or it is named wrongly, or something named is not
            there.
    """
    named = [wanted.backend, wanted.sandbox, wanted.serve_cmd]
    if sum(each is not None for each in named) != 1:
        raise UsageError(
            "name one backend",
            remedy="--backend URL, --serve-cmd CMD, or --sandbox RELEASE (a tiny model)",
        )
    if wanted.sandbox is not None:
        place, choice = _sandboxed(wanted, wanted.sandbox, endpoint, ruleset, tell)
    elif wanted.serve_cmd is not None:
        place, choice = _served(wanted, wanted.serve_cmd, opened, endpoint, ruleset)
    else:
        place, choice = _given(wanted, wanted.backend or "", opened, endpoint, ruleset)
    arms = tuple(
        arm
        for arm in ARMS
        if (ruleset is not None or not arm.rules) and (place.can_patch or not arm.patch)
    )
    choices = {False: choice}
    if place.can_patch:
        choices[True] = choice.anew(PATCHED)
    return Setup(place, choices, arms)


def _given(
    wanted: Wanted, backend: str, opened: Source, endpoint: Endpoint, ruleset: RuleSet | None
) -> tuple[Place, Choice]:
    parts = urlsplit(backend)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(
            f"{backend!r} is no address of a server",
            remedy="Write it in full: --backend http://127.0.0.1:8000",
        )
    if wanted.log is not None and not wanted.log.is_file():
        raise UsageError("there is no such log", where=str(wanted.log))
    # The recorded paths begin with it.
    base_url = backend.partition("?")[0].rstrip("/").removesuffix("/v1")
    found = recognise(base_url)
    choice = _choice(
        wanted,
        endpoint,
        ruleset,
        profile=found.profile if found else None,
        engine=(_patched(base_url) or found.engine) if found else None,
    )
    name = wanted.request_model or model_name(base_url, {info.model for info in opened.infos()})
    return Given(base_url, found, name, wanted.log), choice


def _patched(base_url: str) -> str | None:
    """The cache model of a server that runs with the patch already."""
    try:
        stats = in_force(base_url).stats
    except UpstreamError:
        return None
    slots = stats.get("capacity")
    # How long a system prefix is to the patch is not known to the token.
    if stats.get("state") != "on" or stats.get("scope") != "conversation":
        return None
    return f"conversation-slots:slots={slots}" if isinstance(slots, int) and slots > 0 else None


def _served(
    wanted: Wanted, command: str, opened: Source, endpoint: Endpoint, ruleset: RuleSet | None
) -> tuple[Place, Choice]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"it cannot be read: {error}", where="--serve-cmd") from error
    if not any(PORT in word for word in words):
        raise UsageError(
            "there is no {port} in it, which stands for the port to listen on",
            where="--serve-cmd",
            remedy="Write: --serve-cmd 'vllm-mlx serve MODEL --host 127.0.0.1 --port {port}'",
        )
    found = _installation(wanted.python or interpreter(words[0]))
    profile = f"vllm-mlx@{found.version}" if found and found.version else None
    choice = _choice(wanted, endpoint, ruleset, profile=profile)
    recorded = frozenset(info.model for info in opened.infos())
    return Served(tuple(words), found, recorded, wanted.request_model), choice


def _installation(python: Path | None) -> Installation | None:
    """The vllm-mlx that can be patched; None where there is none, or it is none of those."""
    if python is None:
        return None
    try:
        found = of_python(python)
        # Where the cache is in already there is no arm without it.
        return found if state_of(found).kind in ("nothing", "upstream") else None
    except InputError:
        return None


def _sandboxed(
    wanted: Wanted,
    spec: str,
    endpoint: Endpoint,
    ruleset: RuleSet | None,
    tell: Callable[[str], None],
) -> tuple[Place, Choice]:
    name, at, release = spec.rpartition("@")
    engines: dict[str, Engine] = {"": "vllm-mlx", "vllm-mlx": "vllm-mlx", "mlx-lm": "mlx-lm"}
    if name not in engines or (at and not release):
        raise UsageError(
            f"the sandbox has no {spec!r}",
            remedy="Write a release of vllm-mlx, such as 0.3.0, or mlx-lm@0.31.3.",
        )
    kind = engines[name]
    profile = f"vllm-mlx@{release}" if kind == "vllm-mlx" else "mlx-lm"
    choice = _choice(wanted, endpoint, ruleset, profile=profile, model=MODEL_SPEC)
    # Where it is counted as if the header were kept, it is.
    strips = "strip=off" not in choice.counter.profile.name
    return Sandboxed(Sandbox(tell=tell), kind, release, strips), choice


def _choice(
    wanted: Wanted,
    endpoint: Endpoint,
    ruleset: RuleSet | None,
    *,
    profile: str | None,
    engine: str | None = None,
    model: str | None = None,
) -> Choice:
    """What predicts: as asked for, else as the backend is, refined by what the rules were made for.

    Args:
        wanted: what was asked for.
        endpoint: what the session's requests call.
        ruleset: says what it was made for.
        profile: the backend's own; None where it is not known.
        engine: its cache; None for the profile's.
        model: its model; None where it is not known.
    """
    made_for = ruleset.profile if ruleset else None
    if made_for and (profile is None or made_for.partition(":")[0] == profile):
        profile = made_for
    if wanted.profile and wanted.profile.partition("@")[0] != (profile or "").partition("@")[0]:
        # It is said to be something else than was found.
        engine = None
    return choose(
        endpoint,
        profile_spec=wanted.profile or profile,
        model_spec=wanted.model or model or (ruleset.model if ruleset else None),
        engine_spec=wanted.engine or engine,
    )
