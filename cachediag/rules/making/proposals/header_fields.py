r"""Billing headers, field by field → the patterns that find them.

`x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch=6c09a;`: a name, and
fields that each end with a semicolon. Which fields a request has depends on who sends it: those
that were not in every header, or in none, are optional in the pattern.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from cachediag.heads import common_head
from cachediag.rules.pattern import PatternError, compiled, literal

__all__ = ["NAME", "Field", "Header", "Held", "dropping", "header", "holding"]

NAME = "x-anthropic-billing-header:"
_FIELD = re.compile(r"(?P<gap>[ \t]*)(?P<name>[A-Za-z_]+)=(?P<value>[^;\s]*)(?P<end>;|\Z)")
_WORD = "[0-9A-Za-z_.-]{1,80}"
_SHORT = 24
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NUMBER = r"\d{1,9}"
_KNOWN = {
    "cc_version": _WORD,
    "cc_entrypoint": _WORD,
    "cch": "[0-9a-f]{5}",
    "cc_workload": _WORD,
    "cc_is_subagent": "(?:true|false)",
    "cc_prev_req": _WORD,
    "cc_prompt_id": _UUID,
    "cc_turn_origin": _WORD,
    "cc_prompt_index": _NUMBER,
    "cc_turn_index": _NUMBER,
}
"""The fields that clients are known to send, in the order in which they send them."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field as it was sent."""

    gap: str
    name: str
    value: str
    end: str
    """A semicolon, or nothing at the end of the text."""


@dataclass(frozen=True, slots=True)
class Header:
    """A text that opens with a billing header."""

    fields: tuple[Field, ...]
    rest: str
    """What stands behind the header."""

    def get(self, name: str) -> str | None:
        """A field's value; None where the header has no such field."""
        return next((field.value for field in self.fields if field.name == name), None)


@dataclass(frozen=True, slots=True)
class Held:
    """A pattern that marks the fields that rotate."""

    pattern: str
    values: tuple[str, ...]
    """What it marks in each header."""


def header(text: str) -> Header | None:
    """Read the header that a text opens with; None where it opens with none."""
    if not text.startswith(NAME):
        return None
    position, fields = len(NAME), []
    while (field := _FIELD.match(text, position)) is not None:
        fields.append(Field(field["gap"], field["name"], field["value"], field["end"]))
        position = field.end()
    return Header(tuple(fields), text[position:]) if fields else None


def dropping(headers: Sequence[Header]) -> str | None:
    r"""The pattern, from `\A` to `\z`, of headers that have a block of their own.

    It has the fields that were seen, and those that clients are known to send, so that requests
    of another sender are found too. All but the first are optional, and
    that too where not every header has it.
    """
    names = _order(headers)
    if names is None:
        return None
    for wanted in (_with_known(names), names):
        fields = ["".join(_parts(name, headers)) for name in wanted]
        first = fields.pop(0) if not _is_optional(wanted[0], headers) else ""
        rest = "".join(f"(?:{field})?" for field in fields)
        made = rf"\A{literal(NAME)}{first}{rest}{_tail(headers)}\z"
        try:
            pattern = compiled(made)
        except PatternError:
            continue
        if all(pattern.matches_whole(_text(each)) for each in headers):
            return made
    return None


def holding(headers: Sequence[Header], *, not_alone: bool = False) -> Held | None:
    r"""The pattern, from `\A`, that marks all from the first field that changes to the last.

    Args:
        headers: those to hold, as they were sent.
        not_alone: find them in front of the text only that was seen behind them.
    """
    names = _order(headers)
    if names is None:
        return None
    moving = [name for name in names if len({each.get(name) for each in headers}) > 1]
    if not moving:
        return None
    made = [rf"\A{literal(NAME)}"]
    for name in names:
        lead, value, end = _parts(name, headers)
        opening = "(" if name == moving[0] else ""
        closing = ")" if name == moving[-1] else ""
        if _is_optional(name, headers):
            made.append(f"{opening}(?:{lead}{value}{end})?{closing}")
        else:
            made.append(f"{lead}{opening}{value}{closing}{end}")
    pattern = "".join(made) + (_behind(headers) if not_alone else "")
    texts = [_text(each) for each in headers]
    try:
        spans = [compiled(pattern).pieces(text) for text in texts]
    except PatternError:
        return None
    if any(len(found) != 1 for found in spans):
        return None
    return Held(pattern, tuple(text[slice(*at[0])] for text, at in zip(texts, spans, strict=True)))


def _behind(headers: Sequence[Header]) -> str:
    """The pattern of how the texts behind the headers begin."""
    first = headers[0].rest
    begun = first[: min(common_head(first, each.rest) for each in headers)][:_SHORT]
    if begun.strip():
        return literal(begun)
    return f"(?:{'|'.join(sorted({literal(each.rest[:_SHORT]) for each in headers}))})"


def _text(each: Header) -> str:
    fields = (f"{field.gap}{field.name}={field.value}{field.end}" for field in each.fields)
    return f"{NAME}{''.join(fields)}{each.rest}"


def _order(headers: Sequence[Header]) -> list[str] | None:
    """All field names in an order that every header keeps; None where there is none."""
    rows = [[field.name for field in each.fields] for each in headers]
    if any(len(set(row)) < len(row) for row in rows):
        return None
    seen = dict.fromkeys(name for row in rows for name in row)
    before: dict[str, set[str]] = {name: set() for name in (*_KNOWN, *seen) if name in seen}
    for row in rows:
        for earlier, name in pairwise(row):
            before[name].add(earlier)
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError:
        return None


def _with_known(names: Sequence[str]) -> list[str]:
    """The names with the known ones that were not seen, each behind those that come before it."""
    made, known = list(names), list(_KNOWN)
    for number, name in enumerate(known):
        if name not in made:
            before = [made.index(other) for other in known[:number] if other in made]
            made.insert(max(before, default=-1) + 1, name)
    return made


def _is_optional(name: str, headers: Sequence[Header]) -> bool:
    return any(each.get(name) is None for each in headers)


def _parts(name: str, headers: Sequence[Header]) -> tuple[str, str, str]:
    """The patterns of what leads to a field's value, of the value, and of what ends it."""
    seen = [field for each in headers for field in each.fields if field.name == name]
    gaps, ends = {field.gap for field in seen}, {field.end for field in seen}
    gap = " " if gaps <= {" "} else r"[ \t]{0,4}"
    end = ";" if ends <= {";"} else ";?"
    return f"{gap}{name}=", _value(name, [field.value for field in seen]), end


def _value(name: str, values: Sequence[str]) -> str:
    known = _KNOWN.get(name)
    if known is not None and all(re.fullmatch(known, value) for value in values):
        return known
    longest = max((len(value) for value in values), default=0)
    return rf"[^;\s]{{0,{max(80, 2 * longest)}}}"


def _tail(headers: Sequence[Header]) -> str:
    """White space behind the last field, where it was seen."""
    longest = max(len(each.rest) for each in headers)
    return rf"\s{{0,{2 * longest}}}" if longest else ""
