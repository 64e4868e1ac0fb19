"""Aligned blocks → entries: what it means that a block was added, removed or changed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter

from cachediag.compare.align import Pair, align, align_tools
from cachediag.compare.comparison import Cause, Change, Entry, common_blocks, same
from cachediag.compare.places import leaf_path
from cachediag.compare.text import similarity
from cachediag.compare.values import MEDIA, UNKNOWN, changes
from cachediag.model import Block, Prompt
from cachediag.protocol import jsontext

__all__ = ["Rest", "messages", "other_talk", "system", "tools"]

_MOSTLY = 0.5
_ROLE = attrgetter("role")


@dataclass(frozen=True, slots=True)
class Rest:
    """Two versions of a section behind the parts that are the same to the byte."""

    a: list[Block]
    b: list[Block]
    later: Prompt
    head: int = 0
    """Parts before, which are the same."""
    head_blocks: int = 0
    """Blocks in them."""


def tools(rest: Rest) -> list[Entry]:
    """Tools: added or removed (S01), changed inside."""
    pairs = align_tools(rest.a, rest.b)
    added = [y for x, y in pairs if x is None and y is not None]
    # One server that comes or goes brings or takes many tools: that is one cause.
    path = added[0].path if len(added) == 1 else "tools"
    return [_entry((x, y), ("S01", path if x is None else "tools"), rest.later) for x, y in pairs]


def system(rest: Rest) -> list[Entry]:
    """System blocks: added or removed (S03), hoisted out of the messages (S07), changed."""
    entries = []
    for x, y in align(rest.a, rest.b):
        there = y or x
        hoisted = there is not None and there.path.startswith("messages[")
        code = "S07" if hoisted and _is_inline(rest.later) else "S03"
        entries.append(_entry((x, y), (code, y.path if y else "system"), rest.later))
    return entries


def _is_inline(prompt: Prompt) -> bool:
    """Whether a system message of this protocol is out of its place among the messages."""
    return prompt.endpoint in ("messages", "count_tokens") or any(
        run.section == "messages" and "system" in map(_ROLE, run.parts) for run in prompt.runs
    )


def other_talk(rest: Rest) -> list[Entry]:
    """Another conversation: the two part where they part, and that is no fault."""
    head = common_blocks(rest.a, rest.b)
    shared = [Entry(x, y) for x, y in zip(rest.a[:head], rest.b[:head], strict=True)]
    return shared + [Entry(None, y) for y in rest.b[head:]]


def messages(rest: Rest) -> list[Entry]:
    """The conversation: edited, compacted, lost and inserted blocks; what follows is new."""
    a, b, later = rest.a, rest.b, rest.later
    pairs = align(a, b)
    if common_blocks(a, b) == len(b):
        # An earlier request sent again: all of it was seen before.
        return [Entry(x, y) for x, y in pairs]
    last = max((i for i, (x, _) in enumerate(pairs) if x is not None), default=-1)
    if _compacted(pairs, rest):
        cause: Cause = ("S05", "messages")
        return [part for x, y in pairs for part in _apart(x, y, cause)]
    lost = _whole_messages(a, [x for x, y in pairs if y is None and x is not None])
    cut = len(lost) >= 2
    entries = []
    for index, (x, y) in enumerate(pairs):
        if x is None and index > last:
            entries.append(Entry(None, y))
        elif y is None and x is not None and cut and x.message in lost:
            entries.append(Entry(x, None, ("S05", "messages")))
        else:
            entries.append(_entry((x, y), _history_cause(x, y, later), later))
    return entries


def _apart(x: Block | None, y: Block | None, cause: Cause) -> Iterable[Entry]:
    if x is not None and y is not None and same(x, y):
        return (Entry(x, y),)
    return [Entry(s, t, cause) for s, t in ((x, None), (None, y)) if s or t]


def _compacted(pairs: list[Pair], rest: Rest) -> bool:
    """Whether most of the history is gone, and the talk is shorter than it was."""
    earlier = rest.head + len({block.message for block in rest.a})
    kept = sum(x is not None and y is not None and same(x, y) for x, y in pairs)
    most_gone = 2 * (rest.head_blocks + kept) < rest.head_blocks + len(rest.a)
    return earlier >= 3 and most_gone and len(rest.b) < len(rest.a)


def _whole_messages(a: Sequence[Block], gone: list[Block]) -> set[int | None]:
    """The messages of which every block is gone."""
    taken = {id(block) for block in gone}
    return {block.message for block in gone} - {
        block.message for block in a if id(block) not in taken
    }


def _history_cause(x: Block | None, y: Block | None, later: Prompt) -> Cause:
    there = y or x
    if there is None:
        return "S06", "messages"
    code = "S09" if "thinking" in there.kind else "S08" if there.kind in MEDIA else "S06"
    return code, y.path if y else _container(there, later)


def _container(gone: Block, later: Prompt) -> str:
    """The array in the later body in which a block once stood."""
    content = gone.path.rpartition("[")[0] or gone.path
    if content in _arrays(later):
        return content
    return "input" if later.endpoint == "responses" else "messages"


def _entry(pair: Pair, cause: Cause, later: Prompt) -> Entry:
    """An entry: alone with its cause, or a pair with its changes."""
    x, y = pair
    if x is None or y is None:
        return Entry(x, y, cause)
    if same(x, y):
        return Entry(x, y)
    placed = tuple(_placed(change, y, later) for change in changes(x, y))
    # A pair that differs always has a change, so that undoing all of them undoes it.
    return Entry(x, y, None, placed or (Change(_by_place(None, y, later), (), path=y.path),))


def _placed(change: Change, b: Block, later: Prompt) -> Change:
    code = change.code
    if code == UNKNOWN:
        code = _by_place(change, b, later)
    return replace(change, code=code, path=leaf_path(later.body, b, change.keys))


def _by_place(change: Change | None, b: Block, later: Prompt) -> str:
    """The code of a change whose kind no detector knows."""
    mostly_same = (
        change is not None and change.is_text and similarity(change.before, change.after) >= _MOSTLY
    )
    if b.section == "tools":
        return "V06" if mostly_same else "S02"
    if b.section == "system":
        return "V06"
    return "V06" if mostly_same and _is_context(b, later) else "S04"


def _is_context(block: Block, prompt: Prompt) -> bool:
    """Whether a text is what a client wrote before the user's own words.

    That is all of the first user message but its last block, and any block that opens with a tag.
    """
    if block.kind != "text":
        return False
    last = _opening(prompt)
    if last is None or block.message != last.message:
        return False
    text = jsontext.decode(block.canonical)["text"]
    return block.start != last.start or (isinstance(text, str) and text.lstrip().startswith("<"))


# A comparison asks for each of its changes.
@lru_cache(maxsize=1)
def _opening(prompt: Prompt) -> Block | None:
    """The last block of the first message that the user wrote."""
    first = next((block.message for block in prompt.blocks if block.role == "user"), None)
    inside = [block for block in prompt.blocks if block.message == first and first is not None]
    return inside[-1] if inside else None


@lru_cache(maxsize=1)
def _arrays(prompt: Prompt) -> frozenset[str]:
    """The paths of all blocks, and of the arrays that they stand in."""
    found = set[str]()
    for block in prompt.blocks:
        path = block.path
        while path and path not in found:
            found.add(path)
            path = path.rpartition("[")[0]
    return frozenset(found)
