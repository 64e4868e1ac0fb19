"""What a pattern is made of, once it was read."""

from dataclasses import dataclass

from cachediag.rules.pattern.charset import CharSet

__all__ = ["LONGEST", "SPECIAL", "Char", "Group", "Items", "PatternError"]

# What an open quantifier stands for: texts that rules are for are shorter than this.
LONGEST = 20_000
SPECIAL = frozenset("\\.^$|?*+()[]{}")


class PatternError(ValueError):
    """A pattern that is refused: what is wrong, and how to mend it."""


@dataclass(frozen=True)
class Char:
    """Characters of a set, so many of them."""

    chars: CharSet
    low: int = 1
    high: int = 1
    lazy: bool = False


@dataclass(frozen=True)
class Group:
    """One of several sequences, or none of them."""

    options: "tuple[Items, ...]"
    optional: bool = False
    captured: bool = False


Items = tuple[Char | Group, ...]
