"""Carries out a plan: each file at once or not at all, and checked when it is written."""

import shutil
from pathlib import Path
from stat import S_IMODE

from cachediag.errors import CachediagError
from cachediag.fix.files import replace_file
from cachediag.fix.patch.plan import Change, Plan

__all__ = ["apply"]


def apply(plan: Plan) -> None:
    """Make the changes of a plan.

    Raises:
        CachediagError: a file cannot be written. What was changed before stays so, and works: the
            engine's own file is hooked last and freed first.
    """
    for change in plan.changes:
        try:
            if change.path.exists() and change.path.read_bytes() != change.before:
                raise CachediagError(
                    "it was changed meanwhile", where=str(change.path), remedy="Try again."
                )
            _make(change, plan.state.installation.engine)
        except OSError as error:
            raise CachediagError(
                f"it cannot be changed: {error.strerror or error}",
                where=str(change.path),
                remedy="Run this as the user who installed vllm-mlx.",
            ) from error
    directory = plan.state.installation.payload
    if directory.exists() and not any(directory.glob("*.py")):
        # What Python compiled.
        shutil.rmtree(directory)


def _make(change: Change, engine: Path) -> None:
    if change.after is None:
        change.path.unlink()
        return
    change.path.parent.mkdir(exist_ok=True)
    like = change.path if change.path.exists() else engine
    replace_file(change.path, change.after, S_IMODE(like.stat().st_mode))
    if change.path.read_bytes() != change.after:
        raise OSError("it does not read back as it was written")
