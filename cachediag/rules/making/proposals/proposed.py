"""What a proposal is, and what it is made from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cachediag.rules.making.family import At, Family
from cachediag.rules.making.values import Found, Spot
from cachediag.rules.rule import Evidence, Rule

__all__ = ["Material", "Piece", "Proposed", "evidence"]

_MOST_SEEN = 3
_LONGEST_SEEN = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """The piece of a family's texts that a rule changes."""

    family: Family
    start: At
    end: At

    def meets(self, other: "Piece") -> bool:
        """Whether two pieces of one family share any of the text."""
        return self.family is other.family and self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Proposed:
    """A rule, before it is known whether it does what it is for."""

    rule: Rule
    effect: str
    """What becomes of what the model is told, in one sentence."""
    answers: tuple[Found, ...]
    pieces: tuple[Piece, ...] = ()
    caution: str = ""
    """Why it is not enabled, where a person must look first."""


@dataclass(frozen=True, slots=True)
class Material:
    """What proposals of one kind are made from."""

    found: Sequence[Found]
    """The causes of that kind."""
    texts: Callable[[Spot], Mapping[str, Sequence[int]]]
    """Every text that stands at a place in the session, with the requests that have it."""


def evidence(found: Sequence[Found], values: Sequence[str] = ()) -> Evidence:
    """What rules that answer some causes rest on.

    Args:
        found: the causes.
        values: what was seen; a few are kept, cut short.
    """
    distinct = [value for value in dict.fromkeys(values) if value]
    return Evidence(
        requests=len({request for each in found for request in each.requests}),
        tokens_saved=sum(each.tokens_lost for each in found),
        exact=all(each.exact for each in found),
        seen=tuple(_cut(value) for value in distinct[:_MOST_SEEN]),
    )


def _cut(value: str) -> str:
    cut = value if len(value) <= _LONGEST_SEEN else f"{value[: _LONGEST_SEEN - 1]}…"
    # Half of a character has no place in a file.
    return cut.encode("utf-8", "backslashreplace").decode()
