"""What patching an installation changes, and taking the patch out: files before and after."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cachediag.errors import InputError
from cachediag.fix.patch.hook import Options, block, payload, split
from cachediag.fix.patch.releases import releases
from cachediag.fix.patch.site import Installation
from cachediag.fix.patch.state import PatchState, read

__all__ = ["Change", "Plan", "plan_patch", "plan_unpatch"]


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is changed."""

    path: Path
    before: bytes | None
    """None where there is no such file."""
    after: bytes | None
    """None where it is removed."""

    @property
    def diff(self) -> str:
        """As `diff -u` writes it."""
        before, after = _lines(self.before), _lines(self.after)
        old, new = (
            "/dev/null" if content is None else str(self.path)
            for content in (self.before, self.after)
        )
        return "".join(difflib.unified_diff(before, after, old, new))


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be changed, in the order in which it is safe to be interrupted."""

    state: PatchState
    options: Options | None
    """How the cache is set up then; None where it is taken out."""
    changes: tuple[Change, ...]


def plan_patch(state: PatchState, options: Options) -> Plan:
    """Plan to put the cache in, with these options; nothing is changed where it is in already.

    Raises:
        InputError: it is no release that is known, or somebody else changed it.
    """
    _refuse_strangers(state)
    where, content = state.installation, read(state.installation)
    original, _, _ = split(content)
    # The hook comes last: what it loads is there by then.
    wanted = {where.backup: original}
    wanted |= {where.payload / name: text for name, text in payload().items()}
    changes = [*_removed(where, set(wanted)), *(_change(*each) for each in wanted.items())]
    changes.append(Change(where.engine, content, original + block(options)))
    return Plan(state, options, tuple(each for each in changes if each.before != each.after))


def plan_unpatch(state: PatchState) -> Plan:
    """Plan to take the cache out; nothing is changed where it is not in.

    Raises:
        InputError: somebody else changed the file, so that it is not known what it was.
    """
    where, content = state.installation, read(state.installation)
    original, found, _ = split(content)
    if found is not None:
        _refuse_strangers(state)
    changes = [Change(where.engine, content, original), *_removed(where, set())]
    if where.backup.exists():
        changes.append(Change(where.backup, where.backup.read_bytes(), None))
    return Plan(state, None, tuple(each for each in changes if each.before != each.after))


def _lines(content: bytes | None) -> list[str]:
    text = "" if content is None else content.decode("utf-8", "replace")
    return text.splitlines(keepends=True)


def _change(path: Path, after: bytes) -> Change:
    return Change(path, path.read_bytes() if path.exists() else None, after)


def _removed(where: Installation, wanted: set[Path]) -> Iterator[Change]:
    for path in sorted(where.payload.glob("*.py")):
        if path not in wanted:
            yield Change(path, path.read_bytes(), None)


def _refuse_strangers(state: PatchState) -> None:
    if state.release is not None:
        return
    version = state.installation.version or "of no known version"
    known = ", ".join(release.version for release in releases())
    if state.kind == "foreign":
        said = f"this file of vllm-mlx {version} was changed by somebody else"
        pinned = f"=={state.installation.version}" if state.installation.version else ""
        again = f"pip install --force-reinstall --no-deps vllm-mlx{pinned}"
        remedy = f"Install it anew, then patch it: {again}"
    else:
        said = f"this file of vllm-mlx {version} is of no release that the patch is known to fit"
        remedy = f"Install one that is known ({known}), or a newer cachediag."
    raise InputError(
        f"{said} (sha256 {state.sha256})", where=str(state.installation.engine), remedy=remedy
    )
