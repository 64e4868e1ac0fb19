"""A matcher that goes back as Python's and JavaScript's do, and counts its steps.

What an expression costs is counted with it instead of measured.
"""

from collections.abc import Iterator
from re import _parser  # type: ignore[attr-defined] # the standard library's own reader
from typing import Any

__all__ = ["TooManyStepsError", "steps"]


class TooManyStepsError(Exception):
    """It goes back more often than was allowed."""


def steps(expression: str, text: str, most: int) -> int:
    """How often a part of an expression is tried before it matches at the start of a text, or not.

    Raises:
        TooManyStepsError: more often than `most`.
    """
    matcher = _Matcher(text, most)
    next(matcher.sequence(list(_parser.parse(expression)), 0), None)
    return matcher.taken


class _Matcher:
    def __init__(self, text: str, most: int) -> None:
        self._text = text
        self._most = most
        self.taken = 0

    def sequence(self, items: list[Any], at: int) -> Iterator[int]:
        """Where a match that begins at a place may end, the preferred ones first."""
        if not items:
            yield at
            return
        for behind in self._one(items[0], at):
            yield from self.sequence(items[1:], behind)

    def _one(self, item: tuple[object, Any], at: int) -> Iterator[int]:
        operation, argument = item
        self.taken += 1
        if self.taken > self._most:
            raise TooManyStepsError
        match str(operation):
            case "BRANCH":
                for option in argument[1]:
                    yield from self.sequence(list(option), at)
            case "SUBPATTERN":
                yield from self.sequence(list(argument[3]), at)
            case "MAX_REPEAT" | "MIN_REPEAT" as kind:
                low, high, inner = argument
                yield from self._repeat(kind == "MIN_REPEAT", low, int(high), list(inner), at)
            case "ASSERT_NOT":
                if next(self.sequence(list(argument[1]), at), None) is None:
                    yield at
            case kind:
                if at < len(self._text) and _fits(kind, argument, self._text[at]):
                    yield at + 1

    def _repeat(self, lazy: bool, low: int, high: int, inner: list[Any], at: int) -> Iterator[int]:
        if lazy and low <= 0:
            yield at
        if high > 0:
            for behind in self.sequence(inner, at):
                if behind > at or low > 0:
                    yield from self._repeat(lazy, low - 1, high - 1, inner, behind)
        if not lazy and low <= 0:
            yield at


def _fits(kind: str, argument: Any, one: str) -> bool:
    match kind:
        case "LITERAL":
            return bool(ord(one) == argument)
        case "NOT_LITERAL":
            return bool(ord(one) != argument)
        case "ANY":
            return one != "\n"
        case "RANGE":
            return bool(argument[0] <= ord(one) <= argument[1])
        case "CATEGORY":
            return one.isspace() != ("NOT" in str(argument))
        case "IN":
            negated = str(argument[0][0]) == "NEGATE"
            members = argument[1:] if negated else argument
            return any(_fits(str(name), given, one) for name, given in members) != negated
    raise NotImplementedError(kind)
