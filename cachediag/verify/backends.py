"""Where an arm's backend comes from: it runs, the sandbox has it, or a command starts it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from cachediag.backends import Recognised
from cachediag.backends.sandbox import (
    Engine,
    Sandbox,
    copy_of,
    keep_billing_header,
    running,
)
from cachediag.errors import UpstreamError
from cachediag.fix.patch import (
    Installation,
    Options,
    apply,
    at_site,
    in_force,
    plan_patch,
    state_of,
)
from cachediag.verify.naming import model_name
from cachediag.verify.serving import serving

__all__ = ["Given", "Live", "Place", "Sandboxed", "Served"]


@dataclass(frozen=True, slots=True)
class Live:
    """A server that answers."""

    base_url: str
    model: str | None = None
    """The name that requests must give its model; None for the recorded one."""
    log: Path | None = None
    """What it says, where that can be read."""


class Place(Protocol):
    """Where the backends of an experiment come from."""

    @property
    def name(self) -> str:
        """The backend's name, with its version where it is known."""
        ...

    @property
    def kind(self) -> str | None:
        """Such as `vllm-mlx`; None where it is not known."""
        ...

    @property
    def version(self) -> str | None:
        """Its release; None where it is not known."""
        ...

    @property
    def base_url(self) -> str | None:
        """Where it is; None for servers that are started."""
        ...

    @property
    def can_patch(self) -> bool:
        """It can be run with the patch, too."""
        ...

    @property
    def is_kept(self) -> bool:
        """Servers stay alive between runs, those with the patch beside those without."""
        ...

    def opened(self, *, patched: bool) -> AbstractContextManager[Live]:
        """Run a server as long as the block lasts.

        Raises:
            CachediagError: it cannot be patched, or does not start.
        """
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """A server that runs already, and is not to be stopped."""

    base_url: str
    recognised: Recognised | None
    model: str | None = None
    log: Path | None = None
    can_patch: bool = field(default=False, init=False)
    is_kept: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        """What it was recognised as, and where it is."""
        return f"{self.recognised or 'a server of unknown kind'} at {self.base_url}"

    @property
    def kind(self) -> str | None:
        """As recognised."""
        return self.recognised.kind if self.recognised else None

    @property
    def version(self) -> str | None:
        """As recognised."""
        return self.recognised.version if self.recognised else None

    @contextmanager
    def opened(self, *, patched: bool) -> Iterator[Live]:
        """Give the server."""
        assert not patched
        yield Live(self.base_url, self.model, self.log)


@dataclass(frozen=True, slots=True)
class Sandboxed:
    """A release in the sandbox: one server as it is, one with the patch."""

    sandbox: Sandbox
    engine: Engine
    version: str
    strips: bool = True
    """The release's own removal of the billing header stays on."""
    base_url: None = field(default=None, init=False)
    is_kept: bool = field(default=True, init=False)

    @property
    def can_patch(self) -> bool:
        """The patch is for vllm-mlx alone."""
        return self.engine == "vllm-mlx"

    @property
    def name(self) -> str:
        """Engine and release."""
        own = "" if self.strips else ", keeping the billing header"
        return f"{self.engine} {self.version} (sandbox{own})"

    @property
    def kind(self) -> str:
        """The engine."""
        return self.engine

    @contextmanager
    def opened(self, *, patched: bool) -> Iterator[Live]:
        """Start a server; it runs a copy where it is to be other than it was released."""
        with self._site(patched=patched) as site:
            started = running(self.sandbox, self.engine, self.version, site_dir=site)
            with started as server:
                yield Live(server.base_url, server.model, server.log)

    @contextmanager
    def _site(self, *, patched: bool) -> Iterator[Path | None]:
        if self.strips and not patched:
            yield None
            return
        runs = self.sandbox.root / "runs"
        runs.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _removed(Path(tempfile.mkdtemp(prefix="site-", dir=runs))) as directory:
            site = copy_of(self.sandbox, self.engine, self.version, directory / "site")
            if not self.strips:
                keep_billing_header(site)
            if patched:
                _patch(site)
            yield site


@dataclass(frozen=True, slots=True)
class Served:
    """A server that a command of the user's starts, and cachediag stops.

    A large model does not fit into memory twice: there is one server at a time, started anew for
    each run. The patch is put into a copy of its vllm-mlx, which Python is told to take instead:
    the installation stays as it is.
    """

    command: tuple[str, ...]
    """Its words; `{port}` stands for the port."""
    installation: Installation | None
    """The vllm-mlx that it runs; None where it cannot be patched."""
    recorded: frozenset[str | None] = frozenset()
    """The models that the session's requests ask for."""
    model: str | None = None
    """What to ask for instead of what the server lists."""
    base_url: None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The release, or the command's first word."""
        if self.installation is None:
            return Path(self.command[0]).name
        return f"vllm-mlx {self.version or ''}".rstrip()

    @property
    def kind(self) -> str | None:
        """Known where it can be patched."""
        return "vllm-mlx" if self.installation else None

    @property
    def version(self) -> str | None:
        """As installed."""
        return self.installation.version if self.installation else None

    @property
    def can_patch(self) -> bool:
        """Its installation is known."""
        return self.installation is not None

    @property
    def is_kept(self) -> bool:
        """Without a patch there is nothing to start it anew for."""
        return self.installation is None

    @contextmanager
    def opened(self, *, patched: bool) -> Iterator[Live]:
        """Start the server, and wait until it answers.

        Raises:
            CachediagError: it does not start, or runs without the patch.
        """
        with _removed(Path(tempfile.mkdtemp(prefix="cachediag-verify-"))) as directory:
            environment = dict(os.environ)
            if patched and self.installation is not None:
                site = directory / "site"
                package = self.installation.package
                shutil.copytree(package, site / package.name, symlinks=True)
                for found in package.parent.glob("vllm_mlx-*.dist-info"):
                    shutil.copytree(found, site / found.name)
                _patch(site)
                earlier = environment.get("PYTHONPATH")
                environment["PYTHONPATH"] = f"{site}{os.pathsep}{earlier}" if earlier else str(site)
            log = directory / "server.log"
            with serving(self.command, environment, log) as url:
                if patched and in_force(url).kind != "on":
                    raise UpstreamError(
                        "it runs without the patch though it was told to take it from a copy",
                        where=self.command[0],
                        remedy="Patch it yourself (cachediag fix patch), and use --backend.",
                    )
                yield Live(url, self.model or model_name(url, self.recorded), log)


@contextmanager
def _removed(directory: Path) -> Iterator[Path]:
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _patch(site: Path) -> None:
    apply(plan_patch(state_of(at_site(site)), Options()))
