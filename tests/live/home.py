"""A user's home directory, with the sandbox of the live tests in it."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cachediag.demo.live.steps import LiveDemo
from tests.live.clients import Finished, cachediag, environment
from tests.live.engines_packages import live_sandbox, package, tiny_model

__all__ = ["SMALL", "Home", "home_at"]

SMALL = ("--tokens", "0", "--repeats", "1")
"""Options that make the live demo as short as it can be."""


@dataclass(frozen=True)
class Home:
    """A user's directories, with the sandbox of the live tests among them."""

    path: Path
    env: Mapping[str, str]

    def run(self, *words: str) -> Finished:
        """Run a cachediag command there."""
        return cachediag(*words, env=self.env, cwd=self.path, timeout=300)

    @property
    def left(self) -> list[str]:
        """Homes and logs of servers, and copies of releases, that should be gone."""
        return [path.name for path in (self.path / "sandbox" / "runs").iterdir()]

    @property
    def processes(self) -> list[str]:
        """Those of the sandbox, which all name it in their command line."""
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        return [line for line in listed.stdout.splitlines() if str(self.path / "sandbox") in line]


def home_at(path: Path, *releases: str) -> Home:
    """Make a home.

    Args:
        path: an empty directory.
        releases: of vllm-mlx, to be there beside that of the demo.
    """
    for release in (LiveDemo().release, *releases):
        package("vllm-mlx", release)
    tiny_model()
    # What is installed is shared; what runs is this home's own.
    (path / "sandbox").mkdir()
    for made in live_sandbox().root.iterdir():
        if made.is_dir() and made.name != "runs":
            (path / "sandbox" / made.name).symlink_to(made)
    return Home(path, environment(path, CACHEDIAG_HOME=str(path), COLUMNS="80"))
