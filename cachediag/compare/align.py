"""Which block of the later prompt stands for which block of the earlier one."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from cachediag.compare.comparison import same
from cachediag.compare.text import similarity
from cachediag.compare.values import MEDIA
from cachediag.model import Block
from cachediag.protocol import jsontext
from cachediag.protocol.blocks import named

__all__ = ["Pair", "align", "align_tools"]

Pair = tuple[Block | None, Block | None]
"""An earlier and a later block; None where the block has no counterpart."""

_ALIKE = 0.4
# Pairing by likeness compares every block with some that follow; a run of edits is short.
_WINDOW = 8
_LONGEST_COMPARED = 200_000


def align_tools(a: Sequence[Block], b: Sequence[Block]) -> list[Pair]:
    """Tools paired by name, in the later order; one that is gone follows its predecessor."""
    earlier = _named(a)
    later = _named(b)
    follow: dict[tuple[str, int] | None, list[Pair]] = {}
    before: tuple[str, int] | None = None
    for name, block in earlier.items():
        if name in later:
            before = name
        else:
            follow.setdefault(before, []).append((block, None))
    pairs: list[Pair] = follow.get(None, [])
    for name, block in later.items():
        pairs.append((earlier.get(name), block))
        pairs += follow.get(name, ())
    return pairs


def _named(tools: Sequence[Block]) -> dict[tuple[str, int], Block]:
    """Tools by name, and by which of that name, for a name may be there twice."""
    found: dict[tuple[str, int], Block] = {}
    seen = Counter[str]()
    for tool in tools:
        name = str(named(jsontext.decode(tool.canonical)).get("name", ""))
        found[name, seen[name]] = tool
        seen[name] += 1
    return found


def align(a: Sequence[Block], b: Sequence[Block]) -> list[Pair]:
    """Two runs of blocks, aligned: the equal ones first, what is between them by likeness.

    Returns:
        Pairs in the later order; an earlier block without counterpart stands where it was.
    """
    head = 0
    while head < min(len(a), len(b)) and same(a[head], b[head]):
        head += 1
    pairs: list[Pair] = list(zip(a[:head], b[:head], strict=True))
    if head in (len(a), len(b)):
        return [*pairs, *_pair_run(a[head:], b[head:])]
    keys_a = [(block.role, block.canonical) for block in a[head:]]
    keys_b = [(block.role, block.canonical) for block in b[head:]]
    matcher = SequenceMatcher(None, keys_a, keys_b)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        run_a, run_b = a[head + i1 : head + i2], b[head + j1 : head + j2]
        pairs += zip(run_a, run_b, strict=True) if tag == "equal" else _pair_run(run_a, run_b)
    return pairs


def _pair_run(a: Sequence[Block], b: Sequence[Block]) -> Iterator[Pair]:
    """Pair two runs in which no block equals its counterpart."""
    if [_slot(block) for block in a] == [_slot(block) for block in b]:
        yield from zip(a, b, strict=True)
        return
    i = j = 0
    while i < len(a):
        found = next((k for k in range(j, min(len(b), j + _WINDOW)) if _alike(a[i], b[k])), None)
        if found is not None:
            yield from ((None, block) for block in b[j:found])
            yield a[i], b[found]
            j = found + 1
        elif j < len(b) and _takes_the_place(a[i], b[j], a[i + 1 : i + 1 + _WINDOW]):
            yield a[i], b[j]
            j += 1
        else:
            yield a[i], None
        i += 1
    yield from ((None, block) for block in b[j:])


def _slot(block: Block) -> tuple[str, str]:
    return block.role, block.kind


def _takes_the_place(a: Block, b: Block, following: Sequence[Block]) -> bool:
    """Whether a block that is unlike was put where another stood."""
    if a.role != b.role or any(_alike(later, b) for later in following):
        return False
    return a.kind == b.kind or a.kind in MEDIA or b.kind in MEDIA


def _alike(a: Block, b: Block) -> bool:
    if _slot(a) != _slot(b):
        return False
    x = a.canonical[:_LONGEST_COMPARED].decode("utf-8", "replace")
    y = b.canonical[:_LONGEST_COMPARED].decode("utf-8", "replace")
    # A text's lines are told apart by likeness; JSON writes their ends as escapes.
    return similarity(x.replace("\\n", "\n"), y.replace("\\n", "\n")) >= _ALIKE
