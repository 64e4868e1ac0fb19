"""What the model is told otherwise than it was sent, without the pieces that change each time."""

import re
from dataclasses import dataclass, field

__all__ = ["Telling", "Told", "shortened"]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_CHANGING = "…"
# Of a longer text the head tells which it is.
_LONGEST = 2_000
_MOST_KINDS = 16
_SHOWN = 160
_LEAD = 60


@dataclass(frozen=True, slots=True)
class Told:
    """One kind of text, where it is told and where a rule has put its own. Untrusted."""

    before: str
    """As it was sent; what differs from request to request is `…`."""
    after: str
    """What the model is told instead; empty where it is told nothing."""
    times: int
    """In how many places."""


@dataclass(slots=True)
class _Kind:
    """Texts of so many words that are mostly the same."""

    before: list[str]
    after: list[str]
    times: int = 1

    def takes(self, before: list[str], after: list[str]) -> bool:
        """Whether a text is of this kind; then what differs is left out from now on."""
        own, other = self.before + self.after, before + after
        if len(self.before) != len(before) or len(own) != len(other):
            return False
        same = sum(len(x) for x, y in zip(own, other, strict=True) if x == y)
        if 2 * same < sum(map(len, other)):
            return False
        self.before, self.after = _kept(self.before, before), _kept(self.after, after)
        self.times += 1
        return True


def _kept(own: list[str], other: list[str]) -> list[str]:
    return [x if x == y else _CHANGING for x, y in zip(own, other, strict=True)]


@dataclass(slots=True)
class Telling:
    """Collects what one rule changes; its size does not grow with the session."""

    kinds: list[_Kind] = field(default_factory=list)
    others: int = 0
    """Places of kinds that are not kept."""

    def add(self, before: str, after: str) -> None:
        """Add one place.

        Args:
            before: what the model would have been told.
            after: what it is told.
        """
        words = _words(before), _words(after)
        if any(kind.takes(*words) for kind in self.kinds):
            return
        if len(self.kinds) < _MOST_KINDS:
            self.kinds.append(_Kind(*words))
        else:
            self.others += 1

    def told(self) -> tuple[Told, ...]:
        """The kinds of text, the commonest first."""
        found = sorted(self.kinds, key=lambda kind: -kind.times)
        return tuple(Told(_joined(each.before), _joined(each.after), each.times) for each in found)


def _words(text: str) -> list[str]:
    cut = [_CHANGING] if len(text) > _LONGEST else []
    return _WORD.findall(text[:_LONGEST]) + cut


def _joined(words: list[str]) -> str:
    """The text; changing pieces that touch are one."""
    return re.sub(f"{_CHANGING}(?:[^\\w\\s;=]?{_CHANGING})+", _CHANGING, "".join(words))


def shortened(text: str, width: int = _SHOWN) -> str:
    """The part of a text that shows what changes in it, or else its head.

    Args:
        text: as in `Told`.
        width: the most characters.
    """
    if len(text) <= width:
        return text
    changing = max(0, text.find(_CHANGING))
    start = min(max(0, changing - _LEAD), len(text) - width + 1)
    head = _CHANGING if start else ""
    end = start + width - len(head)
    return head + (text[start:] if end >= len(text) else text[start : end - 1] + _CHANGING)
