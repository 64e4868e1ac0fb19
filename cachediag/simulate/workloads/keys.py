"""Keys of the blocks of a prompt's tokens, each of which names all that stands before it too."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from cachediag.analysis.engines.prefix import window
from cachediag.tokens.sequence import TokenSequence

__all__ = ["Keyed", "keyed", "root"]

_SIZE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Keyed:
    """Tokens, and the keys of their blocks; the last block may be shorter than the others."""

    tokens: TokenSequence
    keys: tuple[int, ...]


def root(name: str) -> int:
    """What the keys of prompts begin with that share nothing with others.

    Args:
        name: what they have in common.
    """
    return _number(name.encode("utf-8", "surrogatepass"))


def keyed(tokens: TokenSequence, block: int, before: int, known: Keyed | None) -> Keyed:
    """The keys of a prompt's blocks: 63 bits, the same in every process.

    The cost is that of the tokens that it does not share with the other prompt.

    Args:
        tokens: of the prompt.
        block: tokens of a block.
        before: the root of the keys.
        known: another prompt with blocks of that length and keys of that root, if there is one.
    """
    whole = known.tokens.shared(tokens) // block if known else 0
    keys = list(known.keys[:whole]) if known else []
    keys += _rest(tokens, block, whole * block, keys[-1] if keys else before)
    return Keyed(tokens, tuple(keys))


def _rest(tokens: TokenSequence, block: int, start: int, head: int) -> Iterator[int]:
    """The keys from an offset on, which is that of a block."""
    count = len(tokens) - start
    if count <= 0:
        return
    # Cut out of one piece, for a prompt whose head is new has tens of thousands of blocks.
    ids = window(tokens, start, count)
    size = len(ids) // count * block
    for at in range(0, len(ids), size):
        head = _number(head.to_bytes(_SIZE, "little") + ids[at : at + size])
        yield head


def _number(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=_SIZE).digest(), "little") >> 1
