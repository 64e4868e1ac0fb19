"""A pattern as it is written → what it is made of."""

import re

from cachediag.rules.pattern.charset import DIGIT, LINE, SPACE, WORD, CharSet, char
from cachediag.rules.pattern.nodes import LONGEST, SPECIAL, Char, Group, Items, PatternError

__all__ = ["NAMED", "Reader"]

NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_CLASSES = {"d": DIGIT, "w": WORD, "s": SPACE}
_COUNT = re.compile(r"\{(\d{1,6})(?:(,)(\d{0,6}))?\}")


class Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str, position: int) -> None:
        self._pattern = pattern
        self._at = position
        self._captured = False
        self._depth = 0

    def sequence(self) -> Items:
        """Items up to the end of the pattern, of a group, or of one of its options."""
        items: list[Char | Group] = []
        while self._at < len(self._pattern):
            one = self._pattern[self._at]
            # What may end a pattern has two characters at most.
            rest = self._pattern[self._at : self._at + 3]
            if one in "|)" and self._depth:
                break
            if rest in ("$", r"\z", r"\Z") and not self._depth:
                break
            items.append(self._group() if one == "(" else self._char())
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

    def _group(self) -> Group:
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
        return Group(tuple(options), optional, captured)

    def _char(self) -> Char:
        one = self._pattern[self._at]
        if one == "[":
            chars = self._class()
        elif one == "\\":
            chars = self._escape()
        elif one == ".":
            chars = LINE
            self._at += 1
        elif one in SPECIAL and one not in "{}]":
            raise self._error("has a meaning of its own; write a backslash before it")
        else:
            chars = char(one)
            self._at += 1
        low, high = self._count()
        lazy = (low, high) != (1, 1) and self._pattern.startswith("?", self._at)
        self._at += lazy
        return Char(chars, low, high, lazy)

    def _count(self) -> tuple[int, int]:
        one = self._pattern[self._at : self._at + 1]
        if one and one in "*+?":
            self._at += 1
            return (1 if one == "+" else 0), (1 if one == "?" else LONGEST)
        found = _COUNT.match(self._pattern, self._at)
        if found is None:
            return 1, 1
        low = int(found[1])
        high = low if found[2] is None else int(found[3]) if found[3] else LONGEST
        if not low <= high <= LONGEST:
            raise self._error(f"is no count; write two numbers up to {LONGEST}")
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
        if not one or (one.isalnum() and one not in NAMED):
            raise self._error("is no escape of this language")
        self._at += 2
        return char(NAMED.get(one, one))

    def _class(self) -> CharSet:
        opened = self._at
        self._at += 1
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        ranges: list[tuple[int, int]] = []
        while not self._pattern.startswith("]", self._at):
            if self._at >= len(self._pattern):
                self._at = opened
                raise self._error("is not closed")
            ranges += self._range().ranges
        self._at += 1
        chars = CharSet.of(ranges)
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
