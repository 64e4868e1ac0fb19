"""O03: the same lines, or the same items of one line, in another order."""

import re

__all__ = ["CODE", "same_items", "same_lines"]

CODE = "O03"
# White space counts from where it begins: else a long run of it is searched at every character.
_ITEM = re.compile(r"(?:(?<!\s)\s+)?[,;|]\s*(?:(?:and|or)\s+)?")
_FEWEST_ITEMS = 3
_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def same_lines(before: list[str], after: list[str]) -> bool:
    """Whether two runs of lines hold the same lines in different orders.

    The numbers of a numbered list belong to the place, not to the item.
    """
    if len(before) < 2:
        return False
    plain = [_item(line) for line in before], [_item(line) for line in after]
    return plain[0] != plain[1] and sorted(plain[0]) == sorted(plain[1])


def _item(line: str) -> str:
    return _MARK.sub("", line).strip()


def same_items(before: str, after: str) -> bool:
    """Whether two lines hold the same items, parted by commas and the like, in other orders."""
    items = _items(before), _items(after)
    reordered = items[0] != items[1] and sorted(items[0]) == sorted(items[1])
    return reordered and len(items[0]) >= _FEWEST_ITEMS


def _items(line: str) -> list[str]:
    # What leads to the list and what closes it stand still: `Agents: a, b.` → `a`, `b`.
    head, colon, rest = line.partition(":")
    body = rest if colon else head
    listed = _ITEM.split(body.strip().strip(".[](){}"))
    return ([head] if colon else []) + [item.strip(" \"'`") for item in listed]
