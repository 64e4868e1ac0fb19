"""What of the sandbox is there already."""

from dataclasses import dataclass
from pathlib import Path

from cachediag.backends.sandbox.engines import RELEASES, Engine
from cachediag.backends.sandbox.install import environment, release_place
from cachediag.backends.sandbox.model import KINDS, model_place
from cachediag.backends.sandbox.place import Sandbox
from cachediag.errors import UsageError

__all__ = ["State", "state"]


@dataclass(frozen=True, slots=True)
class State:
    """What is in its place, and so complete."""

    root: Path
    possible: bool
    """MLX runs on this machine."""
    environment: bool
    releases: dict[Engine, tuple[str, ...]]
    """Of those that are known to run."""
    models: tuple[str, ...]


def state(sandbox: Sandbox) -> State:
    """Look at the sandbox without making anything."""
    try:
        there = environment(sandbox).is_dir()
    except UsageError:
        return State(sandbox.root, False, False, {}, ())
    releases = {
        engine: tuple(
            release for release in known if release_place(sandbox, engine, release).is_dir()
        )
        for engine, known in RELEASES.items()
    }
    models = tuple(kind for kind in KINDS if model_place(sandbox, kind).is_dir())
    return State(sandbox.root, True, there, releases, models)
