"""What is in an installation: nothing, upstream's own cache, ours, or what somebody else did."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from cachediag.errors import InputError
from cachediag.fix.patch.hook import Options, block, payload, split
from cachediag.fix.patch.releases import Release, releases
from cachediag.fix.patch.site import Installation

__all__ = ["Kind", "PatchState", "digest", "read", "state_of"]

Kind = Literal["nothing", "upstream", "ours", "outdated", "lost", "foreign", "unknown"]
"""`nothing`: as released, with no prefix cache for text. `upstream`: as released, with one of its
own. `ours`: patched. `outdated`: patched by another version of cachediag. `lost`: as released, but
files of ours stand beside it, so a reinstall took the hook away. `foreign`: a known release that
somebody else changed. `unknown`: no release that is known."""


@dataclass(frozen=True, slots=True)
class PatchState:
    """What is in an installation."""

    installation: Installation
    kind: Kind
    sha256: str
    """Of the file that is hooked, as it is now."""
    release: Release | None
    """What it is, or was before it was patched; None where it is `foreign` or `unknown`."""
    options: Options | None = None
    """How ours is set up."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What upstream leaves to be mended; nothing where ours is in place."""
        return () if self.release is None or self.kind == "ours" else self.release.faults


def state_of(installation: Installation, known: Sequence[Release] | None = None) -> PatchState:
    """Look at an installation.

    Args:
        installation: which.
        known: the releases that the patch fits; by default all of the table.

    Raises:
        InputError: its files cannot be read.
    """
    content = read(installation)
    original, found, options = split(content)
    by_hash = {release.sha256: release for release in releases() if known is None}
    by_hash |= {release.sha256: release for release in known or ()}
    release = by_hash.get(digest(original))
    kind: Kind
    if release is None:
        versions = {each.version for each in by_hash.values()}
        kind = "foreign" if found or installation.version in versions else "unknown"
        options = None
    elif found is not None:
        is_current = options is not None and found == block(options)
        kind = "ours" if is_current and _payload_is_current(installation) else "outdated"
    elif installation.payload.exists():
        kind = "lost"
    else:
        kind = "nothing" if release.own == "none" else "upstream"
    return PatchState(installation, kind, digest(content), release, options)


def read(installation: Installation) -> bytes:
    """The file that is hooked.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return installation.engine.read_bytes()
    except OSError as error:
        raise InputError(
            f"it cannot be read: {error.strerror}", where=str(installation.engine)
        ) from error


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return sha256(content).hexdigest()


def _payload_is_current(installation: Installation) -> bool:
    directory, wanted = installation.payload, payload()
    found = {file.name for file in directory.glob("*.py")}
    return found == set(wanted) and all(
        (directory / name).read_bytes() == content for name, content in wanted.items()
    )
