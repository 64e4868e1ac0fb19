"""The live demo step by step: record, find, measure."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cachediag.analysis.choice import Choice, choose
from cachediag.backends import Recognised
from cachediag.backends.recorded import to_meta
from cachediag.backends.sandbox import MODEL_SPEC, Sandbox
from cachediag.demo.live.found import Found
from cachediag.demo.live.recorded import REQUESTS, Told, record_claude, record_made_up
from cachediag.verify.backends import Sandboxed
from cachediag.verify.experiment import Experiment, Progress, Replay, run
from cachediag.verify.plan import plan
from cachediag.verify.setup import Setup, Wanted, setup
from cachediag.verify.verdict import Verdict, verdict

__all__ = ["LiveDemo", "Outcome", "measure", "record"]

# The prompts of Claude Code 2.1.113 with nothing of the user's.
_CLAUDE_TOKENS, _CLAUDE_REQUESTS = 24_000, 3
# The sandbox's model on two cores of an x86-64 server: attention grows with the square.
_SECONDS_A_THOUSAND, _SECONDS_A_THOUSAND_SQUARED = 0.75, 0.035
_START_SECONDS = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveDemo:
    """What was asked for."""

    release: str = "0.3.0"
    client: Literal["made-up", "claude"] = "made-up"
    tokens: int = 12_000
    """How long tools and system prompt of the made-up client are at least."""
    repeats: int = 2
    """Of each arm."""

    @property
    def profile(self) -> str:
        """What the release makes of a request, its own removal of the header turned off."""
        return f"vllm-mlx@{self.release}:strip=off"

    def choice(self) -> Choice:
        """What is counted by.

        Raises:
            UsageError: there is no such release.
        """
        return choose("messages", profile_spec=self.profile, model_spec=MODEL_SPEC)

    @property
    def meta(self) -> dict[str, str]:
        """What the session is to say of the engine."""
        engine = Recognised(
            kind="vllm-mlx",
            version=self.release,
            sure="exact",
            evidence="the sandbox",
            profile=self.profile,
        )
        return to_meta(engine, ("messages", "count_tokens"))

    @property
    def minutes(self) -> int:
        """About how long it takes on two cores of a processor."""
        made_up = self.client == "made-up"
        requests = REQUESTS if made_up else _CLAUDE_REQUESTS
        thousands = (self.tokens if made_up else _CLAUDE_TOKENS) / 1000
        prefill = _SECONDS_A_THOUSAND * thousands + _SECONDS_A_THOUSAND_SQUARED * thousands**2
        # Three arms prefill all that they are sent, the fourth does so once.
        prefills = requests + self.repeats * (3 * requests + 1)
        return max(1, round((_START_SECONDS + prefill * prefills) / 60))


def record(asked: LiveDemo, sandbox: Sandbox, choice: Choice, told: Told) -> Path:
    """Start the engine, and let the client talk to it through the proxy.

    Args:
        asked: what was asked for.
        sandbox: holds engine and client, and tells of them.
        choice: as from `LiveDemo.choice`.
        told: of how the recording goes on.

    Returns:
        The session file.

    Raises:
        CachediagError: something cannot be installed or started, or fails.
    """
    place = Sandboxed(sandbox, "vllm-mlx", asked.release, strips=False)
    with place.opened(patched=False) as live:
        if asked.client == "claude":
            return record_claude(live, sandbox, asked.meta, told)
        return record_made_up(live, asked.tokens, choice.counter, asked.meta, told)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured."""

    ready: Setup
    experiment: Experiment
    verdict: Verdict


def measure(
    asked: LiveDemo, found: Found, sandbox: Sandbox, progress: Callable[[Progress], None]
) -> Outcome:
    """Replay the session in the four arms.

    Args:
        asked: what was asked for.
        found: what was recorded, and the rules.
        sandbox: holds the engine.
        progress: told before each request.

    Raises:
        CachediagError: the engine failed before anything was measured.
    """
    ruleset = found.generated.ruleset
    wanted = Wanted(sandbox=asked.release, profile=asked.profile, model=MODEL_SPEC)
    ready = setup(wanted, found.source, "messages", ruleset, sandbox.tell)
    planned = plan(found.source, ruleset.enabled, ready.choices[False], sandbox.tell)
    replay = Replay(arms=ready.arms, repeats=asked.repeats, max_tokens=1, headers={})
    experiment = run(planned, ready.place, ready.choices, replay, progress)
    if not experiment.measured and experiment.failure is not None:
        raise experiment.failure
    return Outcome(ready, experiment, verdict(experiment))
