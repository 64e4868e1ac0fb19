"""How it looks, and how it is written down, what the patch changes and what is in place of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from cachediag.fix.patch import Change, Force, Kind, Options, PatchState, Plan
from cachediag.model import Json
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, Paragraph, commands, count, line
from cachediag.report.switches import shortened

__all__ = ["InPlaceReport", "PlanReport", "diff", "document", "in_place", "state_document"]

_KINDS: Mapping[Kind, tuple[str, str]] = {
    "nothing": ("as released, no prefix cache", "yellow"),
    "upstream": ("as released, upstream's own prefix cache", "yellow"),
    "ours": ("patched by cachediag", GOOD),
    "outdated": ("patched by another version of cachediag, or with files missing", "yellow"),
    "lost": ("the patch was lost to a reinstall: its files are there, the hook is not", BAD),
    "foreign": ("changed by somebody else", BAD),
    "unknown": ("no release that the patch is known to fit", BAD),
}
_PATCHED: tuple[Kind, ...] = ("nothing", "upstream", "outdated", "lost")
"""Where patching is of use."""
_FORCES = {
    "on": ("the prefix cache is in force", GOOD),
    "off": ("the prefix cache is there, and off", BAD),
    "absent": ("the server has no prefix cache of cachediag", BAD),
}
_COUNTERS = ("hits", "partial_hits", "misses", "reused_tokens", "prefilled_tokens")
_ACTIONS = {(True, False): "remove", (False, True): "add", (True, True): "change"}


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What is changed, or would be."""

    plan: Plan
    is_dry_run: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the installation, the files, what is mended, and what to do next."""
        plan = self.plan
        state, is_out = plan.state, plan.options is None
        yield line((_name(state), "bold"), f"   {shortened(state.installation.engine)}")
        if not plan.changes:
            yield line("  nothing to do: ", "it is not patched" if is_out else "it is patched")
        elif plan.options is None:
            yield line("  the patch is taken out, and every file as it was")
        else:
            yield line(f"  {_set_up(plan.options)}")
        for change in plan.changes:
            path = change.path.relative_to(state.installation.package)
            yield line((f"  {_action(change):<6}  {printable(str(path))}", DIM))
        if plan.options is not None and plan.changes and state.faults:
            yield Text()
            yield line("what it mends")
            for fault in state.faults:
                yield Paragraph(f"- {fault}")
        yield Text()
        if self.is_dry_run:
            yield line(("nothing was written", DIM))
        elif plan.changes:
            yield line(
                ("next   ", GOOD), "start the server again", "" if is_out else " and ask it:"
            )
            if not is_out:
                yield Text("       cachediag fix status --backend http://127.0.0.1:8000")


def diff(plan: Plan) -> str:
    """All changes but the copy of the original, as `diff -u` writes them."""
    backup = plan.state.installation.backup
    changes = [
        change.diff.replace(str(change.path), printable(str(change.path)))
        for change in plan.changes
        if change.path != backup
    ]
    lines = "".join(changes).splitlines()
    return "".join(f"{printable(each)}\n" for each in lines)


def document(plan: Plan, *, is_dry_run: bool) -> dict[str, Json]:
    """`cachediag.fix-patch/1`: what is changed, or would be."""
    return {
        "schema": "cachediag.fix-patch/1",
        "dry_run": is_dry_run,
        "before": state_document(plan.state),
        "options": _options(plan.options),
        "files": [
            {
                "path": str(change.path),
                "action": _action(change),
                "sha256_before": _digest(change.before),
                "sha256_after": _digest(change.after),
                "diff": None if change.path == plan.state.installation.backup else change.diff,
            }
            for change in plan.changes
        ],
    }


def state_document(state: PatchState) -> dict[str, Json]:
    """What is in an installation."""
    return {
        "engine": str(state.installation.engine),
        "sha256": state.sha256,
        "version": state.installation.version,
        "release": None if state.release is None else state.release.version,
        "state": state.kind,
        "faults": list(state.faults),
        "options": _options(state.options),
    }


@dataclass(frozen=True, slots=True)
class InPlaceReport:
    """Whether an installation is patched, and whether a server makes use of it."""

    state: PatchState | None
    force: Force | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield what is known, and what to do about it."""
        if self.state is not None:
            yield from _state(self.state)
            yield Text()
        if self.force is not None:
            yield from _force(self.force)
            yield Text()


def in_place(state: PatchState | None, force: Force | None) -> dict[str, Json]:
    """What `cachediag.fix-status/1` tells of the patch.

    Args:
        state: of an installation; None where none was named.
        force: what a server says; None where none was asked.
    """
    return {
        "patch": None if state is None else state_document(state),
        "running": force
        and {
            "url": force.url,
            "state": force.kind,
            "reason": force.reason,
            "counters": {name: force.counter(name) for name in _COUNTERS},
        },
    }


def _state(state: PatchState) -> Iterator[RenderableType]:
    said, style = _KINDS[state.kind]
    yield line((_name(state), "bold"), f"   {shortened(state.installation.engine)}")
    yield line((f"  {said}", style))
    if state.kind == "ours" and state.options is not None:
        yield line(f"  {_set_up(state.options)}")
    if state.release is None:
        yield line((f"  sha256 {state.sha256}", DIM))
    for fault in state.faults:
        yield Paragraph(f"- {fault}")
    if state.kind in _PATCHED:
        yield from commands({"cachediag fix patch": ""})


def _force(force: Force) -> Iterator[Text]:
    said, style = _FORCES[force.kind]
    yield line((printable(force.url), "bold"), "   ", (said, style))
    if force.reason:
        yield line((f"  {printable(force.reason)}", BAD))
    if force.kind != "absent":
        told = (f"{name.replace('_', ' ')} {force.counter(name):,}" for name in _COUNTERS)
        yield line(f"  {', '.join(told)}")


def _name(state: PatchState) -> str:
    version = state.release.version if state.release else state.installation.version
    return f"vllm-mlx {printable(version or 'of no known version')}"


def _set_up(options: Options) -> str:
    memory = "a quarter of the memory"
    if options.max_bytes is not None:
        memory = f"{options.max_bytes / 1e9:g} GB"
    return f"{count(options.slots, 'slot')}, scope {options.scope}, at most {memory}"


def _options(options: Options | None) -> Json:
    if options is None:
        return None
    return {"slots": options.slots, "scope": options.scope, "max_bytes": options.max_bytes}


def _action(change: Change) -> str:
    return _ACTIONS[change.before is not None, change.after is not None]


def _digest(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()
