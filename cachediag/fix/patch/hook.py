"""The block at the end of `engine/simple.py` that lets the cache in, and the files beside it."""

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, get_args

__all__ = ["Options", "Scope", "block", "payload", "split"]

Scope = Literal["system", "conversation"]

_BEGIN = b"# >>> cachediag prefix cache >>>\n"
_END = b"# <<< cachediag prefix cache <<<\n"
_BLOCK = """
# >>> cachediag prefix cache >>>
# Put here by `cachediag fix patch`; `cachediag fix unpatch` takes it out again.
try:
    from . import cachediag_prefix_cache as _cachediag_prefix_cache
except Exception:
    logger.exception("cachediag prefix cache off: it could not be loaded")
else:
    _cachediag_prefix_cache.install(
        SimpleEngine, slots={slots}, scope="{scope}", max_bytes={max_bytes}
    )
# <<< cachediag prefix cache <<<
"""
_OPTIONS = re.compile(rb'slots=(\d+), scope="(\w+)", max_bytes=(None|\d+)\n')


@dataclass(frozen=True, slots=True)
class Options:
    """How the cache is set up."""

    slots: int = 4
    """How many system prefixes are kept."""
    scope: Scope = "conversation"
    max_bytes: int | None = None
    """How much memory it may take; None for a quarter of the machine's."""


def block(options: Options) -> bytes:
    """What is appended to the file, whose last line ends."""
    return _BLOCK.format(
        slots=options.slots, scope=options.scope, max_bytes=options.max_bytes
    ).encode()


def split(content: bytes) -> tuple[bytes, bytes | None, Options | None]:
    """A file without its block, the block, and the options in it.

    The block and its options are None where there is none, the options where they cannot be read.
    """
    place = content.find(b"\n" + _BEGIN)
    if place < 0 or not content.endswith(_END):
        return content, None, None
    found = content[place:]
    return content[:place], found, _options(found)


def payload() -> dict[str, bytes]:
    """The files that are put beside the engine, by name."""
    directory = files(__package__).joinpath("payload")
    return {
        file.name: file.read_bytes()
        for file in sorted(directory.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".py")
    }


def _options(found: bytes) -> Options | None:
    match = _OPTIONS.search(found)
    if match is None:
        return None
    slots, scope, max_bytes = (group.decode() for group in match.groups())
    for known in get_args(Scope):
        if known == scope:
            return Options(int(slots), known, None if max_bytes == "None" else int(max_bytes))
    return None
