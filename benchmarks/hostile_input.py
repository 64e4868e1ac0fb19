"""Input whose size is chosen, made so that work on it could grow faster than it: all made up.

The tests count what it takes; the benchmarks measure it.
"""

import gzip
import json
from collections.abc import Callable, Iterable
from typing import Any

from cachediag.model import Exchange, ExchangeInfo
from cachediag.protocol import jsontext
from cachediag.rules.rule import Rule
from cachediag.session.source import Source, numbered

__all__ = [
    "PATTERNS",
    "RULES",
    "SCHEMAS",
    "armed",
    "linted",
    "members",
    "pattern",
    "rule",
    "said",
    "trace_line",
]

Schema = dict[str, Any]


def rule(action: str, path: str, pattern: str | None = None, **more: object) -> Rule:
    return Rule("r", "V01", action, "messages", path, pattern, **more)  # type: ignore[arg-type]


def _text(said: str) -> dict[str, object]:
    return {"type": "text", "text": said}


def _system(count: int) -> dict[str, object]:
    blocks = [_text(f"x{number}") for number in range(count)]
    return {"system": blocks, "messages": [{"role": "user", "content": "hi"}]}


def _lines(count: int) -> dict[str, object]:
    return {"system": "\n".join(f'"é{number}' for number in range(count, 0, -1)), "messages": []}


def _items(count: int) -> dict[str, object]:
    return {"system": ",".join(f"é{number}" for number in range(count, 0, -1)), "messages": []}


def _tools(count: int) -> dict[str, object]:
    named = [{"name": f"t{n:09}", "input_schema": {"b": 1, "a": 2}} for n in range(count, 0, -1)]
    return {"tools": named, "messages": []}


def _talk(role: str, *around: str) -> Callable[[int], dict[str, object]]:
    def body(count: int) -> dict[str, object]:
        said = [{"role": role, "content": f"x{number}"} for number in range(count)]
        other = [{"role": each, "content": "hi"} for each in around]
        return {"messages": [*other[:1], *said, *other[1:]]}

    return body


def _turns(count: int) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": [_text(f"x{n}")]} for n in range(count)]}


def _context(count: int) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": [_text(f"x{n}") for n in range(count)]}]}


_SPOKEN = "messages[*].content[*].text"
RULES: dict[str, tuple[Rule, Callable[[int], dict[str, object]]]] = {
    "replace": (rule("replace", "system[*].text", r"\Ax(\d+)", value="0"), _system),
    "drop": (rule("drop-block", "system[*]", r"\Ax\d+\z"), _system),
    "drop messages": (
        rule("drop-block", "messages[*]", r"\Ax\d+\z"),
        _talk("system", "system", "user"),
    ),
    "move": (rule("move-to-end", "system[*]", r"\Ax\d+\z"), _system),
    "pin": (rule("pin", "system[*].text", r"\Ax(\d+)"), _system),
    "sort lines": (rule("sort", "system", by="lines"), _lines),
    "sort items": (rule("sort", "system", by="items"), _items),
    "sort tools": (rule("sort", "tools", by="name"), _tools),
    "sort keys": (rule("sort", "tools", by="keys"), _tools),
    "keep inline": (rule("keep-inline", "messages[*]"), _talk("system", "user")),
    "keep none": (rule("keep-inline", "messages[*]"), _talk("system", "system", "user")),
    "a user's turns": (rule("replace", _SPOKEN, r"\Ax(\d+)", value="0", messages=True), _turns),
    "a user's blocks": (rule("replace", _SPOKEN, r"\Ax(\d+)", value="0", messages=True), _context),
}
"""By name: a rule, and what makes a body with so many places for it."""


def said(texts: Iterable[str]) -> bytes:
    """A body whose user says texts, a block each."""
    content = [_text(text) for text in texts]
    return _body({"max_tokens": 1, "messages": [{"role": "user", "content": content}]})


def armed(tools: Iterable[tuple[str, int]]) -> bytes:
    """A body with tools: the name of each, and a number that stands in its schema."""
    made = [{"name": name, "input_schema": {"const": number}} for name, number in tools]
    return _body({"max_tokens": 1, "messages": [], "tools": made})


def _body(value: dict[str, object]) -> bytes:
    return json.dumps(value).encode()


def _wide(count: int) -> Schema:
    many = {f"p{number}": {"$ref": "#/$defs/d0"} for number in range(count)}
    inside = {f"q{number}": {"type": "string"} for number in range(count)}
    return {
        "type": "object",
        "properties": many,
        "$defs": {"d0": {"type": "object", "properties": inside}},
    }


def _listed(count: int) -> Schema:
    return {"type": "string", "minLength": 2, "enum": [f"v{number}" for number in range(count)]}


SCHEMAS: dict[str, Callable[[int], Schema]] = {"wide": _wide, "listed": _listed}


def linted(schema: object) -> Source:
    """A session of one request, whose tool has a schema."""
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    body["tools"] = [{"name": "t", "input_schema": schema}]
    info = ExchangeInfo(endpoint="messages", path="/v1/messages")
    return numbered("made", [Exchange(info, jsontext.encode(body))])


PATTERNS = ("literal", "class", "negated", "options")


def pattern(form: str, count: int) -> str:
    """A pattern of about so many characters, in one of the forms of `PATTERNS`."""
    characters = "".join(chr(0x100 + 2 * number) for number in range(count))
    return {
        "literal": rf"\A{characters}",
        "class": rf"\A[{characters}]",
        "negated": rf"\A[^{characters}]",
        "options": rf"\A(?:{'|'.join(f'{number:05}' for number in range(count // 20))})",
    }[form]


def trace_line(number: int) -> bytes:
    """A line of a trace in Mooncake's form."""
    ids = list(range(number % 7, number % 7 + 3))
    made = {"timestamp": number, "input_length": 1_500, "output_length": 5, "hash_ids": ids}
    return json.dumps(made).encode() + b"\n"


def members(count: int) -> bytes:
    """So many gzip members that hold nothing, and one that holds `end`."""
    return gzip.compress(b"") * count + gzip.compress(b"end")
