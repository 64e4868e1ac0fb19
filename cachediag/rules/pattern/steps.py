"""How many steps a pattern can take on one text, at worst."""

from dataclasses import dataclass

from cachediag.rules.pattern.charset import CharSet
from cachediag.rules.pattern.nodes import Char, Group, Items

__all__ = ["most_steps"]


@dataclass(frozen=True)
class _Follow:
    """What may come behind an item: its first characters, and the steps to match it all."""

    first: CharSet
    steps: int


_NOTHING = _Follow(CharSet(()), 0)
# An assertion holds at one place only, so that no character leads on.
_END = _Follow(CharSet(()), 1)


def most_steps(items: Items, *, to_an_end: bool) -> int:
    """The most steps that one try takes.

    Args:
        items: the pattern.
        to_an_end: behind it an end of line or of text is asked for.
    """
    return _followed(items, _END if to_an_end else _NOTHING).steps


def _followed(sequence: Items, follow: _Follow) -> _Follow:
    """How many steps a sequence and what follows it can take, worked out from the end."""
    for item in reversed(sequence):
        follow = _char_steps(item, follow) if isinstance(item, Char) else _group_steps(item, follow)
    return follow


def _char_steps(item: Char, follow: _Follow) -> _Follow:
    first = item.chars if item.low else item.chars | follow.first
    fixed = item.low == item.high
    # Where what follows cannot begin with the same character, there is one place to stop.
    if fixed or not item.chars.meets(follow.first):
        return _Follow(first, item.high + follow.steps)
    return _Follow(first, (item.high - item.low + 1) * max(follow.steps, 1))


def _group_steps(group: Group, follow: _Follow) -> _Follow:
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
