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

from cachediag.rules.charset import ANY, DIGIT, LINE, WORD, CharSet, char

__all__ = ["Compiled", "PatternError", "check", "compiled", "literal"]

# What an open quantifier stands for: texts that rules are for are shorter than this.
_LONGEST = 20_000
_MOST_STEPS = 1_000_000
# Places of a text at which a pattern is tried, the fewer the costlier it is.
_FEWEST_TRIES, _MOST_TRIES = 16, 1_000
_ALL_STEPS = 4_000_000
_SPECIAL = frozenset("\\.^$|?*+()[]{}")
_SPACE = CharSet.of((ord(one), ord(one)) for one in " \t\n\r\f\v")
_CLASSES = {"d": DIGIT, "w": WORD, "s": _SPACE}
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_COUNT = re.compile(r"\{(\d{1,6})(?:(,)(\d{0,6}))?\}")


class PatternError(ValueError):
    """A pattern that is refused: what is wrong, and how to mend it."""


@dataclass(frozen=True)
class _Char:
    """Characters of a set, so many of them."""

    chars: CharSet
    low: int = 1
    high: int = 1
    lazy: bool = False


@dataclass(frozen=True)
class _Group:
    """One of several sequences, or none of them."""

    options: "tuple[_Sequence, ...]"
    optional: bool = False
    captured: bool = False


_Sequence = tuple[_Char | _Group, ...]


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
                found.append(match.span(1 if expression.groups else 0))
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
    named = {value: f"\\{name}" for name, value in _NAMED.items()}
    return "".join(f"\\{one}" if one in _SPECIAL else named.get(one, one) for one in text)


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
    reader = _Reader(pattern, 2 if at_start else 1)
    sequence = reader.sequence()
    end = reader.end()
    head = _head(sequence)
    if not at_start and not head.strip():
        raise PatternError(
            "behind ^ stands no text to find the line by; write one, or begin "
            r"with \A"
        )
    steps = _steps(sequence, _END if end else _NOTHING)
    if steps > _MOST_STEPS:
        raise PatternError(
            f"the pattern can take {steps:,} steps on one text; write narrower classes or bounds, "
            "such as [0-9a-f]{5} instead of .*"
        )
    tries = 1 if at_start else max(_FEWEST_TRIES, min(_MOST_TRIES, _ALL_STEPS // steps))
    return Compiled(at_start, head, _source(sequence) + end, tries)


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str, position: int) -> None:
        self._pattern = pattern
        self._at = position
        self._captured = False
        self._depth = 0

    def sequence(self) -> _Sequence:
        """Items up to the end of the pattern, of a group, or of one of its options."""
        items: list[_Char | _Group] = []
        while self._at < len(self._pattern):
            rest = self._pattern[self._at :]
            if rest[0] in "|)" and self._depth:
                break
            if rest in ("$", r"\z", r"\Z") and not self._depth:
                break
            items.append(self._group() if rest[0] == "(" else self._char())
        return tuple(items)

    def end(self) -> str:
        """What the pattern ends with: nothing, or an assertion."""
        rest = self._pattern[self._at :]
        if rest and rest not in ("$", r"\z", r"\Z"):
            raise self._error("cannot stand here")
        return "" if not rest else r"(?![^\n])" if rest == "$" else r"(?![\s\S])"

    def _error(self, what: str) -> PatternError:
        shown = self._pattern[self._at : self._at + 8]
        return PatternError(f"{shown!r} at character {self._at + 1} of the pattern {what}")

    def _group(self) -> _Group:
        captured = not self._pattern.startswith("(?:", self._at)
        if captured and (self._captured or self._pattern.startswith("(?", self._at)):
            raise self._error("is no group of this language; write ( ) once, elsewhere (?: )")
        self._captured = self._captured or captured
        opened = self._at
        self._at += 1 if captured else 3
        self._depth += 1
        if self._depth > 8:
            raise self._error("is nested too deeply")
        options = [self.sequence()]
        while self._pattern.startswith("|", self._at):
            self._at += 1
            options.append(self.sequence())
        if not self._pattern.startswith(")", self._at):
            self._at = opened
            raise self._error("is not closed")
        self._at += 1
        self._depth -= 1
        optional = not captured and self._pattern.startswith("?", self._at)
        self._at += optional
        if self._pattern[self._at : self._at + 1] in tuple("*+?{"):
            raise self._error("repeats a group, which is refused; write out what it stands for")
        return _Group(tuple(options), optional, captured)

    def _char(self) -> _Char:
        one = self._pattern[self._at]
        if one == "[":
            chars = self._class()
        elif one == "\\":
            chars = self._escape()
        elif one == ".":
            chars = LINE
            self._at += 1
        elif one in _SPECIAL and one not in "{}]":
            raise self._error("has a meaning of its own; write a backslash before it")
        else:
            chars = char(one)
            self._at += 1
        low, high = self._count()
        lazy = (low, high) != (1, 1) and self._pattern.startswith("?", self._at)
        self._at += lazy
        return _Char(chars, low, high, lazy)

    def _count(self) -> tuple[int, int]:
        one = self._pattern[self._at : self._at + 1]
        if one and one in "*+?":
            self._at += 1
            return (1 if one == "+" else 0), (1 if one == "?" else _LONGEST)
        found = _COUNT.match(self._pattern, self._at)
        if found is None:
            return 1, 1
        low = int(found[1])
        high = low if found[2] is None else int(found[3]) if found[3] else _LONGEST
        if not low <= high <= _LONGEST:
            raise self._error(f"is no count; write two numbers up to {_LONGEST}")
        self._at = found.end()
        return low, high

    def _escape(self) -> CharSet:
        one = self._pattern[self._at + 1 : self._at + 2]
        for letter, digits in (("x", 2), ("u", 4)):
            code = self._pattern[self._at + 2 : self._at + 2 + digits]
            if one == letter and re.fullmatch(rf"[0-9a-fA-F]{{{digits}}}", code):
                self._at += 2 + digits
                return char(chr(int(code, 16)))
        if one and one.lower() in _CLASSES:
            self._at += 2
            known = _CLASSES[one.lower()]
            return known if one.islower() else known.others()
        if not one or (one.isalnum() and one not in _NAMED):
            raise self._error("is no escape of this language")
        self._at += 2
        return char(_NAMED.get(one, one))

    def _class(self) -> CharSet:
        opened = self._at
        self._at += 1
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        chars = CharSet(())
        while not self._pattern.startswith("]", self._at):
            if self._at >= len(self._pattern):
                self._at = opened
                raise self._error("is not closed")
            chars |= self._range()
        self._at += 1
        chars = chars.others() if negated else chars
        if not chars.ranges:
            raise self._error("is a class of no character")
        return chars

    def _range(self) -> CharSet:
        low = self._class_char()
        following = self._pattern[self._at : self._at + 2]
        if len(following) < 2 or following[0] != "-" or following[1] == "]":
            return low
        self._at += 1
        high = self._class_char()
        ends = low.ranges[0][0], high.ranges[-1][1]
        single = all(len(s.ranges) == 1 and s.ranges[0][0] == s.ranges[0][1] for s in (low, high))
        if not single or ends[0] > ends[1]:
            raise self._error("ends a range that is none")
        return CharSet((ends,))

    def _class_char(self) -> CharSet:
        if self._pattern.startswith("\\", self._at):
            return self._escape()
        one = self._pattern[self._at : self._at + 1]
        if not one:
            raise self._error("ends within a class")
        self._at += 1
        return char(one)


def _head(sequence: _Sequence) -> str:
    """The literal at the head of a sequence."""
    found = []
    for item in sequence:
        if not isinstance(item, _Char) or not item.low == item.high == 1:
            break
        if len(item.chars.ranges) != 1 or item.chars.ranges[0][0] != item.chars.ranges[0][1]:
            break
        found.append(chr(item.chars.ranges[0][0]))
    return "".join(found)


@dataclass(frozen=True)
class _Follow:
    """What may come behind an item: its first characters, and the steps to match it all."""

    first: CharSet
    steps: int


_NOTHING = _Follow(CharSet(()), 0)
# An assertion holds at one place only, so that no character leads on.
_END = _Follow(CharSet(()), 1)


def _steps(sequence: _Sequence, follow: _Follow) -> int:
    return _followed(sequence, follow).steps


def _followed(sequence: _Sequence, follow: _Follow) -> _Follow:
    """How many steps a sequence and what follows it can take, worked out from the end."""
    for item in reversed(sequence):
        follow = (
            _char_steps(item, follow) if isinstance(item, _Char) else _group_steps(item, follow)
        )
    return follow


def _char_steps(item: _Char, follow: _Follow) -> _Follow:
    first = item.chars if item.low else item.chars | follow.first
    fixed = item.low == item.high
    # Where what follows cannot begin with the same character, there is one place to stop.
    if fixed or not item.chars.meets(follow.first):
        return _Follow(first, item.high + follow.steps)
    return _Follow(first, (item.high - item.low + 1) * max(follow.steps, 1))


def _group_steps(group: _Group, follow: _Follow) -> _Follow:
    tried = [_followed(option, follow) for option in group.options]
    tried += [follow] if group.optional else []
    first = CharSet.of(part for each in tried for part in each.first.ranges)
    apart = sum(len(each.first.ranges) for each in tried) == 1 or not any(
        one.first.meets(other.first)
        for number, one in enumerate(tried)
        for other in tried[number + 1 :]
    )
    steps = (each.steps for each in tried)
    return _Follow(first, max(steps) + len(tried) if apart else sum(steps))


def _source(sequence: _Sequence) -> str:
    return "".join(
        _char_source(item) if isinstance(item, _Char) else _group_source(item) for item in sequence
    )


def _char_source(item: _Char) -> str:
    source = r"[\s\S]" if item.chars == ANY else _one(item.chars) or item.chars.source()
    if item.low == item.high == 1:
        return source
    count = f"{{{item.low}}}" if item.low == item.high else f"{{{item.low},{item.high}}}"
    return source + count + ("?" if item.lazy else "")


def _one(chars: CharSet) -> str | None:
    """The source of a set of one ordinary character; None where a class must be written."""
    low, high = chars.ranges[0]
    if len(chars.ranges) > 1 or low != high or not chr(low).isprintable():
        return None
    return f"\\{chr(low)}" if chr(low) in _SPECIAL else chr(low)


def _group_source(group: _Group) -> str:
    inside = "|".join(_source(option) for option in group.options)
    return f"{'(' if group.captured else '(?:'}{inside}){'?' if group.optional else ''}"
