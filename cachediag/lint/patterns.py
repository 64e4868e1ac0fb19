"""What stands in a regular expression, as far as decoders differ over it.

The expression is read from left to right once and never run: it may be written to run forever.
"""

import re
from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

__all__ = ["WORDS", "Feature", "features"]

_TOKEN = re.compile(
    r"(?P<escape>\\(?:[pP]\{[^}]*\}|u\{[0-9A-Fa-f]+\}|.|\Z))"
    r"|(?P<group>\((?:\?(?:P?<(?![=!])[^>]*>|<[=!]|[:=!>#]|[A-Za-z-]*[:)]?)?)?)"
    r"|(?P<close>\))"
    r"|(?P<class>\[\^?)"
    r"|(?P<count>\{(?P<least>\d*)(?P<comma>,?)(?P<most>\d*)\})"
    r"|(?P<brace>\{)"
    r"|(?P<start>\^)|(?P<end>\$)|(?P<or>\|)|(?P<repeat>[*+?])"
    r"|(?P<plain>.)",
    re.DOTALL,
)
_BEHIND = re.compile(r"[)$]*(?:\||\Z)")
_LONGEST = 20_000
_NAMES = {
    "(?=": "lookahead",
    "(?!": "lookahead",
    "(?<=": "lookbehind",
    "(?<!": "lookbehind",
    "(?>": "flags",
    "(?#": "flags",
}


WORDS: Final = {
    "lookahead": "lookahead",
    "lookbehind": "lookbehind",
    "backreference": "a backreference",
    "word boundary": "a word boundary",
    "unicode property": "a Unicode property",
    "flags": "a group with flags",
    "unknown escape": "an escape that is not known",
    "anchor": "an anchor inside",
    "inner anchor": "an anchor inside",
    "text anchor": "an anchor inside",
    "empty class": "a class that begins with `]`",
    "range": "a range from more to less",
    "range of a class": "a range of a class",
    "counts": "a count from more to less",
    "huge count": "a count beyond all bounds",
    "malformed": "no regular expression",
}
"""What is said of the features for which some decoder refuses an expression."""


class Feature(NamedTuple):
    """Something in an expression that not every decoder takes."""

    name: str
    """`lookahead`, `lookbehind`, `backreference`, `word boundary`, `unicode property`, `flags`,
    `unknown escape`, `anchor`, `inner anchor`, `text anchor`, `empty class`, `range` (from more to
    less, or to a class), `range of a class`, `counts` (more at least than at most), `huge count`,
    `malformed`, `long`."""
    text: str
    position: int
    """Characters of the pattern before it."""
    in_class: bool = False


def features(pattern: str) -> Iterator[Feature]:
    """What a decoder may refuse or leave out.

    Args:
        pattern: an expression as JSON Schema has it.
    """
    if len(pattern) > _LONGEST:
        yield Feature("long", "", 0)
        return
    position, depth, last = 0, 0, ""
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        if match is None:  # pragma: no cover - the last alternative takes anything
            return
        kind, text = match.lastgroup or "", match.group()
        kind = "count" if match.group("count") is not None else kind
        if kind == "class":
            end = yield from _class(pattern, match.end())
            if end < 0:
                yield Feature("malformed", text, position)
                return
            position, last = end, "class"
            continue
        yield from _token(match, kind, last)
        depth += (kind == "group" and not text.endswith(")")) - (kind == "close")
        if depth < 0:
            yield Feature("malformed", text, position)
            return
        position, last = match.end(), kind
    if depth:
        yield Feature("malformed", "(", len(pattern))


def _token(match: re.Match[str], kind: str, last: str) -> Iterator[Feature]:
    text, position = match.group(), match.start()
    if kind == "escape":
        yield from _escape(text, position, in_class=False)
    elif kind == "group" and text.startswith("(?"):
        if text in _NAMES:
            yield Feature(_NAMES[text], text, position)
        elif text != "(?:" and "<" not in text:
            yield Feature("flags", text, position)
    elif kind == "count":
        least, most = match.group("least"), match.group("most")
        if not least:
            yield Feature("malformed", text, position)
        elif most and int(least[:12]) > int(most[:12]):
            yield Feature("counts", text, position)
        if max(int((most or "0")[:12]), int((least or "0")[:12])) > 2**31 - 1:
            yield Feature("huge count", text, position)
    elif kind == "brace" or (kind == "repeat" and last in {"", "or", "group", "start"}):
        yield Feature("malformed", text, position)
    elif kind in {"start", "end"}:
        at_start = last in {"", "or", "group", "start"}
        outer = at_start if kind == "start" else _BEHIND.match(match.string, match.end())
        yield Feature("anchor" if outer else "inner anchor", text, position)


def _escape(text: str, position: int, *, in_class: bool) -> Iterator[Feature]:
    one = text[1:2]
    if not one:
        yield Feature("malformed", text, position, in_class)
    elif one in "pP":
        yield Feature("unicode property", text, position, in_class)
    elif one in "bB":
        name = "word boundary" if not in_class else "unknown escape"
        yield Feature(name, text, position, in_class)
    elif one.isdigit() or (one == "k" and not in_class):
        yield Feature("backreference", text, position, in_class)
    elif one.isascii() and one.isalpha() and one not in "dDsSwWafnrtvxuUAz":
        yield Feature("unknown escape", text, position, in_class)
    elif one in "Az":
        yield Feature("text anchor", text, position, in_class)


def _class(pattern: str, position: int) -> Generator[Feature, None, int]:
    """What stands in a class; returns where it ends, or -1."""
    start = position
    low: str | None = None
    while position < len(pattern):
        one = pattern[position]
        if one == "]":
            if position == start:
                yield Feature("empty class", "[]", position)
            return position + 1
        if one == "-" and low and pattern[position + 1 : position + 2] not in {"]", ""}:
            high = _item(pattern, position + 1)
            yield from _range(low, high, position)
            position, low = position + 1 + len(high), None
            continue
        low = _item(pattern, position)
        if one == "\\":
            yield from _escape(low, position, in_class=True)
        position += len(low)
    return -1


def _item(pattern: str, position: int) -> str:
    """One item of a class, as it is written."""
    match = _TOKEN.match(pattern, position)
    if match is not None and match.lastgroup == "escape":
        return match.group()
    return pattern[position]


def _range(low: str, high: str, position: int) -> Iterator[Feature]:
    if len(low) > 1 and low[1] in "dDsSwW":
        yield Feature("range of a class", low, position, in_class=True)
    elif (len(high) > 1 and high[1] in "dDsSwW") or (len(low) == len(high) == 1 and low > high):
        yield Feature("range", f"{low}-{high}", position, in_class=True)
