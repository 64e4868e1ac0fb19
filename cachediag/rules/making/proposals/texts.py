"""What the proposals for pieces of texts share: which pieces, found by which pattern."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from cachediag.compare.detectors import white_space
from cachediag.rules.making.family import At, Family
from cachediag.rules.making.infer import Shapes, infer
from cachediag.rules.making.proposals.proposed import Piece, Proposed, evidence
from cachediag.rules.making.shape import shape, white_shape
from cachediag.rules.making.values import Found
from cachediag.rules.rule import Rule

__all__ = ["Marked", "block_path", "marked", "proposed"]

_IN_A_MESSAGE = (
    "It stands in a message of the user: see that it is what the client put around the user's words"
)

Unit = Callable[[Family, int], tuple[At, At]]
"""The piece to change for a slot of a family."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A pattern, and what it marks in the texts of one or several families."""

    pattern: str
    pieces: tuple[Piece, ...]
    values: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """It marks all of the texts."""
        return all(
            piece.start == At(0, 0) and piece.end == piece.family.end for piece in self.pieces
        )


def block_path(path: str) -> str | None:
    """The block that a text is all of; None where it is the whole of a message."""
    if path.endswith("].text"):
        return path.removesuffix(".text")
    return path if path in ("system", "instructions") else None


def _slots_of(found: Found, family: Family) -> list[int]:
    """The slots that show a cause and no other."""
    return [number for number, slot in enumerate(family.slots) if slot.code == found.code]


def _slot_unit(family: Family, slot: int) -> tuple[At, At]:
    """The slot itself."""
    return family.before(slot), family.behind(slot)


def marked(found: Found, unit: Unit = _slot_unit) -> list[Marked]:
    """The patterns for a cause, each with the pieces that it marks.

    Args:
        found: the cause.
        unit: the piece to change for a slot.
    """
    made: dict[str, Marked] = {}
    seen = _values(found.families)
    for family in found.families:
        shapes = _shapes(family, seen)
        for start, end in _united(unit(family, slot) for slot in _slots_of(found, family)):
            if start == At(0, 0) and end == family.end and not _is_tied(family):
                continue
            pattern = infer(family, start, end, shapes, code=found.code)
            if pattern is None:
                continue
            one = Marked(pattern, (Piece(family, start, end),), family.pieces(start, end))
            before = made.get(pattern)
            made[pattern] = (
                replace(
                    before,
                    pieces=before.pieces + one.pieces,
                    values=before.values + one.values,
                )
                if before
                else one
            )
    return list(made.values())


def _is_tied(family: Family) -> bool:
    """Whether something in the texts stays the same, so that they can be told from others."""
    return any(literal.strip() for literal in family.literals)


def _united(units: Iterable[tuple[At, At]]) -> list[tuple[At, At]]:
    """The pieces, those that meet in one."""
    made: list[tuple[At, At]] = []
    for start, end in units:
        if made and start < made[-1][1]:
            made[-1] = made[-1][0], max(made[-1][1], end)
        else:
            made.append((start, end))
    return made


_Key = tuple[str, str, str]


def _key(family: Family, slot: int) -> _Key:
    before, behind = family.literals[slot], family.literals[slot + 1]
    line = before.rpartition("\n")[2], behind.partition("\n")[0]
    return family.slots[slot].code, *line


def _values(families: Iterable[Family]) -> dict[_Key, list[str]]:
    """What was seen in the same words around, in whichever text."""
    seen: defaultdict[_Key, list[str]] = defaultdict(list)
    for family in families:
        for number, slot in enumerate(family.slots):
            seen[_key(family, number)] += slot.values
    return dict(seen)


def _shapes(family: Family, seen: dict[_Key, list[str]]) -> Shapes:
    def of(slot: int) -> str:
        code, values = family.slots[slot].code, seen[_key(family, slot)]
        white = white_shape(family.slots[slot].values) if code == white_space.CODE else None
        return shape(values, code) if white is None else white

    return of


def proposed(
    found: Found, rule: Rule, one: Marked, effect: str, caution: str = ""
) -> Iterator[Proposed]:
    """A proposal for pieces of a text; none where it is no text that rules may change.

    Args:
        found: the cause.
        rule: the rule, without pattern and evidence.
        one: what it marks.
        effect: what becomes of what the model is told.
        caution: why it is not enabled, where it is not.
    """
    spot = found.spot
    if not (spot.is_tool or spot.is_system or spot.is_user_text):
        return
    caution = caution or ("" if not spot.is_user_text else _IN_A_MESSAGE)
    yield Proposed(
        rule=replace(
            rule,
            protocol=spot.protocol,
            path=spot.path,
            finding=found.code,
            pattern=one.pattern,
            enabled=not caution,
            messages=spot.is_user_text,
            evidence=evidence([found], one.values),
        ),
        effect=effect,
        answers=(found,),
        pieces=one.pieces,
        caution=caution,
    )
