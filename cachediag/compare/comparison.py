"""What a comparison holds: the aligned blocks, the causes, and how each is undone."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from cachediag.heads import common_head
from cachediag.model import Block, Finding, Json, Prompt, Section
from cachediag.protocol import jsontext

__all__ = [
    "Cause",
    "Change",
    "Comparison",
    "Entry",
    "Keys",
    "Stretch",
    "common_blocks",
    "same",
    "shared_after",
    "undo",
]

Keys = tuple[str | int, ...]
"""The way from a block's value to a leaf in it: `("input", "paths", 0)`."""

Cause = tuple[str, str | None]
"""What tells one cause from another: the finding's code and its path."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change inside a pair of blocks that stand for one another."""

    code: str
    keys: Keys
    before: str = ""
    after: str = ""
    a_span: tuple[int, int] = (0, 0)
    """The piece that changed: `before[a_span[0]:a_span[1]]`."""
    b_span: tuple[int, int] = (0, 0)
    """What it became: `after[b_span[0]:b_span[1]]`."""
    is_text: bool = False
    """The leaf is a text, so that this change can be undone without the block's others."""
    note: str = ""
    """What changed, in words, where no excerpt shows it."""
    path: str = ""
    """JSON path of the leaf in the later body."""

    @property
    def cause(self) -> Cause:
        """The cause that this change belongs to."""
        return self.code, self.path


@dataclass(frozen=True, slots=True)
class Entry:
    """A block of the earlier prompt, of the later one, or a pair that stand for one another.

    `cause` is what it means that the block was added or removed; None for a pair, and for a
    block appended at the end.
    """

    a: Block | None
    b: Block | None
    cause: Cause | None = None
    changes: tuple[Change, ...] = ()

    @property
    def section(self) -> str:
        """The section that the block stands in."""
        block = self.b or self.a
        return block.section if block else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One section of two prompts: what is the same at its head, and the aligned rest."""

    section: Section
    head: int
    """Parts at the head that are the same to the byte."""
    head_blocks: int
    """Blocks in them."""
    entries: tuple[Entry, ...]
    """The aligned blocks behind them, in the order of the later prompt."""
    reordered: bool = False
    """Tools that both prompts have come in another order."""

    @property
    def takes_messages(self) -> bool:
        """Some of its blocks stand among the messages: system messages that were moved here."""
        blocks = (block for entry in self.entries for block in (entry.a, entry.b) if block)
        return self.section != "messages" and any(block.message is not None for block in blocks)

    @property
    def causes(self) -> frozenset[Cause]:
        """What broke the prefix in this section."""
        inside = {entry.cause for entry in self.entries if entry.cause}
        inside |= {change.cause for entry in self.entries for change in entry.changes}
        return frozenset(inside | {("O01", "tools")} if self.reordered else inside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two prompts held against each other, the earlier one `a`, the later one `b`."""

    profile: str
    a: Prompt
    """The earlier prompt as the profile arranges it."""
    b: Prompt
    sent: tuple[Prompt, Prompt]
    """Both as they were sent."""
    stretches: tuple[Stretch, ...]
    """Tools, system and messages."""
    findings: tuple[Finding, ...] = ()
    """The breaks in cache order, then what costs, then what is harmless."""
    other_fields: tuple[str, ...] = ()
    """JSON paths of what differs outside the prompt: `metadata.user_id`, `max_tokens`."""
    shared_blocks: int = 0
    """Blocks at the head that are the same as sent."""
    reusable_blocks: int = 0
    """The same once every `break` is undone."""

    @property
    def first_difference(self) -> int | None:
        """Offset of the first raw byte of `b` that differs; None where the bodies are equal.

        The shorter length where one begins the other. Looks through both bodies to find it.
        """
        a, b = self.a.body, self.b.body
        return None if a == b else common_head(a, b)

    @property
    def first_path(self) -> str | None:
        """JSON path of that byte in `b`."""
        at = self.first_difference
        return None if at is None else jsontext.path_at(self.b.body, at)

    @property
    def breaks(self) -> tuple[Finding, ...]:
        """The findings that end the shared prefix."""
        return tuple(finding for finding in self.findings if finding.severity == "break")

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The aligned blocks that are not the same to the byte at the head of a section."""
        return tuple(entry for stretch in self.stretches for entry in stretch.entries)


def same(a: Block, b: Block) -> bool:
    """Whether two blocks are one to every cache."""
    return a.canonical == b.canonical and a.role == b.role


def common_blocks(a: Sequence[Block], b: Sequence[Block]) -> int:
    """How many blocks at the head of two prompts are the same."""
    count = 0
    for x, y in zip(a, b, strict=False):
        if not same(x, y):
            break
        count += 1
    return count


def shared_after(stretches: Sequence[Stretch], undone: Collection[Cause]) -> int:
    """How many blocks at the head two prompts share once some causes are undone.

    Args:
        stretches: the aligned sections.
        undone: code and path of each finding to undo; none for the prompts as sent.
    """
    count = 0
    for stretch in stretches:
        earlier = _earlier(stretch)
        common = common_blocks(earlier, _rebuilt(stretch, undone))
        count += stretch.head_blocks + common
        if common < len(earlier) or len(_rebuilt(stretch, undone)) > common:
            break
    return count


def _earlier(stretch: Stretch) -> list[Block]:
    entries = sorted(stretch.entries, key=_earlier_order) if stretch.reordered else stretch.entries
    return [entry.a for entry in entries if entry.a is not None]


def _rebuilt(stretch: Stretch, undone: Collection[Cause]) -> list[Block]:
    entries = list(stretch.entries)
    if stretch.reordered and ("O01", "tools") in undone:
        entries.sort(key=_earlier_order)
    return [block for entry in entries if (block := undo(entry, undone)) is not None]


def _earlier_order(entry: Entry) -> tuple[bool, int]:
    # Tools as the earlier prompt had them, added ones after them.
    return entry.a is None, entry.a.start if entry.a else 0


def undo(entry: Entry, undone: Collection[Cause]) -> Block | None:
    """The block of an entry with some causes undone; None where there is none then."""
    a, b = entry.a, entry.b
    if a is None or b is None:
        return a if entry.cause in undone else b
    chosen = [change for change in entry.changes if change.cause in undone]
    if not chosen:
        return b
    return a if len(chosen) == len(entry.changes) else _put_back(b, chosen)


def _put_back(b: Block, chosen: list[Change]) -> Block:
    """The later block with some of its changed texts put back; the rest can only go whole."""
    value = jsontext.decode(b.canonical)
    # Two causes may share one piece. From the end of each text, so that the offsets of the pieces
    # before stay right.
    pieces = {(c.keys, c.b_span): c for c in chosen if c.is_text}
    for change in sorted(pieces.values(), key=lambda change: change.b_span, reverse=True):
        value = _replaced(value, change.keys, change)
    return replace(b, canonical=jsontext.encode(value))


def _replaced(value: Json, keys: Keys, change: Change) -> Json:
    if not keys:
        start, end = change.b_span
        return value[:start] + change.before[slice(*change.a_span)] + value[end:]
    value[keys[0]] = _replaced(value[keys[0]], keys[1:], change)
    return value
