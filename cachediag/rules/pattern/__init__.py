r"""The pattern language of rules: regular expressions that cannot run away.

A pattern begins with `\A` (the start of the text) or with `^` (the start of a line) and a literal
behind it. Then come characters, classes (`[a-f0-9]`, `\d`, `\w`, `.`), quantifiers on single
characters and classes, `(?:one|two)`, `(?:maybe)?`, and at most one group `( )`, which marks the
piece that a rule changes. It may end with `\z` (the end of the text) or `$` (the end of a line).

What would have to be tried again and again is refused: the steps that a match can take are
counted before the pattern is ever used. Only the standard library is used: exported scripts carry
this module with them.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from cachediag.rules.pattern.nodes import SPECIAL, PatternError
from cachediag.rules.pattern.reader import NAMED, Reader
from cachediag.rules.pattern.source import head_of, source_of
from cachediag.rules.pattern.steps import most_steps

__all__ = ["Compiled", "PatternError", "check", "compiled", "literal"]

_MOST_STEPS = 1_000_000
_MOST_TOLD = 10**12
# Places of a text at which a pattern is tried, the fewer the costlier it is.
_FEWEST_TRIES, _MOST_TRIES = 16, 1_000
_ALL_STEPS = 4_000_000


@dataclass(frozen=True)
class Compiled:
    """A pattern in the form in which it is searched for, here and in other languages."""

    at_start: bool
    """It is tried at the start of the text only; otherwise at the start of each line."""
    head: str
    """The literal that it begins with."""
    source: str
    """The regular expression, to be matched where a try begins; the same in Python's `re` and in
    JavaScript with the flags `uy`."""
    tries: int
    """At how many places of one text it is tried."""

    def pieces(self, text: str) -> list[tuple[int, int]]:
        """Where the pieces that it marks stand in a text, in order, apart from one another."""
        found: list[tuple[int, int]] = []
        expression = _expression(self.source)
        start, behind = (0 if text.startswith(self.head) else self._next(text, 0)), 0
        for _ in range(self.tries):
            if start < 0:
                break
            match = expression.match(text, start) if start >= behind else None
            if match is not None:
                piece = match.span(1 if expression.groups else 0)
                # The group may stand in an option that was not taken.
                found += [piece] if piece[0] >= 0 else []
                behind = match.end()
            start = self._next(text, start)
        return found

    def matches_whole(self, text: str) -> bool:
        """Whether it matches a text from its start to its end."""
        return self.at_start and _expression(self.source).fullmatch(text) is not None

    def _next(self, text: str, start: int) -> int:
        if self.at_start:
            return -1
        found = text.find(f"\n{self.head}", start)
        return found + 1 if found >= 0 else -1


@lru_cache(maxsize=1024)
def _expression(source: str) -> re.Pattern[str]:
    return re.compile(source)


def literal(text: str) -> str:
    """The pattern of a text itself."""
    named = {value: f"\\{name}" for name, value in NAMED.items()}
    return "".join(f"\\{one}" if one in SPECIAL else named.get(one, one) for one in text)


def check(pattern: str) -> None:
    """See that a pattern is one of this language and cannot run away.

    Raises:
        PatternError: it is not.
    """
    compiled(pattern)


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Compiled:
    """Read a pattern.

    Raises:
        PatternError: it is none of this language, or it can run away.
    """
    at_start = pattern.startswith(r"\A")
    if not at_start and not pattern.startswith("^"):
        raise PatternError(r"the pattern is not anchored; begin it with \A or with ^ and a text")
    reader = Reader(pattern, 2 if at_start else 1)
    sequence = reader.sequence()
    end = reader.end()
    head = head_of(sequence)
    if not at_start and not head.strip():
        raise PatternError(
            "behind ^ stands no text to find the line by; write one, or begin "
            r"with \A"
        )
    steps = most_steps(sequence, to_an_end=bool(end))
    if steps > _MOST_STEPS:
        # A number of thousands of digits is no word of a message, and Python does not write it.
        told = f"{steps:,}" if steps < _MOST_TOLD else f"more than {_MOST_TOLD:,}"
        raise PatternError(
            f"the pattern can take {told} steps on one text; write narrower classes or bounds, "
            "such as [0-9a-f]{5} instead of .*"
        )
    tries = 1 if at_start else max(_FEWEST_TRIES, min(_MOST_TRIES, _ALL_STEPS // steps))
    return Compiled(at_start, head, source_of(sequence) + end, tries)
