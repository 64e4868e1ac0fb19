"""Whether what a rule changes is what the finding that it answers is about."""

import json
import re
from collections import Counter

from cachediag.compare.detectors import billing_header, environment, patterns, white_space
from cachediag.errors import CachediagError
from cachediag.findings import load
from cachediag.model import Json
from cachediag.protocol import jsontext
from cachediag.rules.engine.applied import Change
from cachediag.rules.engine.places import PathError, Place, places
from cachediag.rules.engine.texts import is_text, text_at
from cachediag.rules.pattern import compiled
from cachediag.rules.rule import Rule

__all__ = ["beyond_purpose", "shows_kind"]

# Old clients end the header without a semicolon.
_HEADER = re.compile(
    rf"^(?:{billing_header.PATTERN})(?:[ \t]*[A-Za-z_]+=[^;\s]*$)?[ \t]*\n?", re.MULTILINE
)
_PROMPT = ("tools", "functions", "system", "instructions", "messages", "input")
_ROOT = re.compile(r"\w+")
_WORD = re.compile(r"\w+|[^\w\s]")
_VOLATILE = ("V02", "V03", "V04")
_TAKES_AWAY = ("drop-block", "replace")


def beyond_purpose(rule: Rule, change: Change, sent: bytes, made: bytes) -> str | None:
    """What a change takes along that its rule's finding is not about.

    Args:
        rule: the rule.
        change: one of its changes.
        sent: the body as it was sent.
        made: the body that the rule alone makes of it.

    Returns:
        What is wrong, to follow on the rule's name; None where nothing is.
    """
    root = _ROOT.match(change.path)
    if root is None or root.group() not in _PROMPT:
        return "changes what is no part of the prompt"
    if rule.action == "sort":
        is_same = _same_but_for_order(rule, _value(sent, change.path), _value(made, change.path))
        return None if is_same else "changes more than the order"
    if rule.finding[0] == "O":
        return f"answers {rule.finding}, an order, but does not sort"
    if rule.finding == billing_header.CODE and not _in_header(rule, change, sent):
        return "changes text that is no billing header"
    if rule.finding == white_space.CODE and "".join(change.before.split()) != "".join(
        change.after.split()
    ):
        return "changes more than white space"
    # An identifier may look like a word.
    takes = rule.action in _TAKES_AWAY and rule.finding in ("V02", "V04")
    if takes and not shows_kind(rule, change, sent):
        return f"takes away a text that shows no {load(rule.finding).title}"
    return None


def shows_kind(rule: Rule, change: Change, sent: bytes) -> bool:
    """Whether a change touches a value of the kind that its rule's finding names.

    Many draws of an identifier look like words: it is enough if one of a rule's changes shows it.
    Findings of no such kind are shown by any change.

    Args:
        rule: the rule.
        change: one of its changes.
        sent: the body as it was sent.
    """
    if rule.finding not in (*_VOLATILE, environment.CODE) or rule.action == "sort":
        return True
    text, spans = _pieces(rule, change, sent)
    lines = text.splitlines()
    for start, end in spans:
        first = text.count("\n", 0, start)
        touched = range(first, first + text.count("\n", start, end) + 1)
        if rule.finding == environment.CODE:
            shown = any(environment.in_snapshot(lines, number) for number in touched)
        else:
            shown = any(patterns.mask(line) != line for line in lines[first : touched.stop])
        if shown:
            return True
    return False


def _in_header(rule: Rule, change: Change, sent: bytes) -> bool:
    text, spans = _pieces(rule, change, sent)
    if rule.action == "drop-block":
        return _HEADER.fullmatch(text.rstrip()) is not None
    headers = [header.span() for header in _HEADER.finditer(text)]
    return all(any(start <= a and b <= end for start, end in headers) for a, b in spans)


def _pieces(rule: Rule, change: Change, sent: bytes) -> tuple[str, list[tuple[int, int]]]:
    """The text that a change is made in, and where in it what is changed stands."""
    text = _text(sent, change.path)
    if rule.action == "drop-block" or not text:
        return change.before, [(0, len(change.before))]
    pieces = compiled(rule.pattern).pieces(text) if rule.pattern else [(0, len(text))]
    return text, [(a, b) for a, b in pieces if text[a:b] == change.before]


def _place(body: bytes, path: str) -> Place | None:
    """A place by the path that a change gives; None where no rule could name it."""
    try:
        return next(iter(places(body, path)), None)
    except (PathError, CachediagError):
        return None


def _text(body: bytes, path: str) -> str:
    place = _place(body, path)
    return text_at(body, place) if place and is_text(body, place) else ""


def _value(body: bytes, path: str) -> Json:
    """What stands at a path, numbers as they are spelled."""
    place = _place(body, path)
    if place is None:
        return None
    raw = body[place.span.start : place.span.end]
    return jsontext.spelled(raw.decode("utf-8", "surrogatepass"))


def _same_but_for_order(rule: Rule, before: Json, after: Json) -> bool:
    if isinstance(before, str) and isinstance(after, str):
        return Counter(_WORD.findall(before)) == Counter(_WORD.findall(after))
    if rule.by == "keys":
        return _plain(before) == _plain(after)
    if isinstance(before, list) and isinstance(after, list):
        return Counter(map(json.dumps, before)) == Counter(map(json.dumps, after))
    return bool(before == after)


def _plain(value: Json) -> str:
    return json.dumps(value, sort_keys=True)
