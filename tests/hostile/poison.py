"""A recording in which every text that a client, a server or a file may choose is poison."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cachediag.model import Exchange, ExchangeInfo, Usage
from cachediag.rules.rule import Evidence, Rule, RuleSet
from cachediag.session import Session
from tests.compare.bodies import HEADER, Body

__all__ = [
    "FILE_NAME",
    "INJECTED",
    "MARK",
    "POISON",
    "SOME",
    "TEXTS",
    "body",
    "exchanges",
    "flows",
    "record",
    "rules",
]

MARK = "P0ISON"
INJECTED = "1NJECTED"
"""What only ever follows a line end."""

POISON: Mapping[str, str] = {
    "colour": f"\x1b[5;44m{MARK}\x1b[0m",
    "link": f"\x1b]8;;http://evil.test/\x1b\\{MARK}\x1b]8;;\x1b\\",
    "clipboard": f"\x1b]52;c;UDBJU09O\x07{MARK}",
    "title": f"\x1b]0;{MARK}\x07",
    "device": f"\x1bP$q{MARK}\x1b\\\x1b_{MARK}\x1b\\\x1b^{MARK}\x1b\\",
    "eight-bit": f"\x9b5m{MARK}\x9d0;{MARK}\x9c\x90{MARK}\x9c",
    "cursor": f"\x1b[2J\x1b[H\x1b[9A\x1bc{MARK}",
    "bell": f"\x07\x08\x08\x0b\x0c\x0e\x7f{MARK}\x05",
    "line ends": f"a\r{INJECTED}\r\n{INJECTED}\n\n#{INJECTED}\x85\u2028\u2029\n{INJECTED}()",
    "bidi": f"\u202e{MARK}\u202c\u2066\u2067{MARK}\u2069\u200f\u061c",
    "zero width": f"\u200b\u200d{MARK}\ufeff\u2060\u00ad\u034f\u115f\u3164\ufe0f\U000e0101",
    "marks": MARK + "\u0335\u0489\u0300" * 8,
    "markup": f"[blink on blue]{MARK}[/] [link=http://evil.test]{MARK}[/link] [/] [/red] :skull:",
    "html": f"<script>{MARK}()</script><img src=x onerror={MARK}()>&amp;<!-- ]]>",
    "markdown": f"[{MARK}](http://evil.test) ![]() `{MARK}` **x** | a |\n|---|\n#{INJECTED}",
    "formula": f"=cmd|' /C {MARK}'!A0",
    "latex": f"$\\input{{{MARK}}}$ \\{MARK} %{MARK} {{x}}",
    "nul": f"\x00{MARK}\x00",
    "half": f"\ud800{MARK}\udfff\udc9b",
    "wide": f"中文ﷺ🙂🏴{MARK}",
    "quotes": f"\"\"\"'''\\\"\\'*/-->{MARK}); {MARK}(); //",
    "shell": f"$({MARK})`{MARK}`; {MARK} & '\" {MARK}",
}
"""What may do harm, by kind."""

TEXTS = tuple(POISON.values())
SOME = (
    "".join(POISON[kind] for kind in ("colour", "title", "eight-bit", "bidi", "half", "wide")),
    "".join(POISON[kind] for kind in ("markup", "line ends", "html", "shell", "marks")),
    "".join(POISON[kind] for kind in ("formula", "quotes", "latex", "markdown", "zero width")),
)
"""Nearly all of them, in three texts."""

FILE_NAME = (
    f"=\x1b[5;44m\x1b]0;{MARK}\x07\udc9b5m\u202e\u200b[blink]{MARK}[red] "
    f"$({MARK});'`<script>|\r\n{INJECTED}()"
)
"""Poison that may be a file's name."""


def _tool(name: str, text: str, *keys: str) -> Body:
    properties = {f"{key}{text}": {"type": "string", "description": text} for key in keys}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    schema |= {f"x{text}": {text: [text]}, "pattern": text, "$comment": text, "enum": [text, text]}
    return {"name": f"{text}{name}", "description": f"{text} does {name}.", "input_schema": schema}


def body(text: str, turn: int = 0) -> Body:
    """A request with a text wherever there can be one, as it is in one turn of many."""
    later = f" {turn}" if turn else ""
    order = ("one", "two") if turn % 2 == 0 else ("two", "one")
    tools = [_tool("read", text, *order), _tool("write", text, "a"), _tool("x", text + later, "a")]
    system = [
        {"type": "text", "text": HEADER.format(f"{turn:05x}")},
        {"type": "text", "text": f"{text}\nRules {text}\nDay: {text} 2026-11-{turn + 10}{text}\n"},
        {"type": "text", "text": text * 3, "cache_control": {"type": "ephemeral", "ttl": text}},
        {"type": text, text: text},
    ]
    messages: list[Body] = [
        {"role": "user", "content": [{"type": "text", "text": f"{text} asks{later} {text}"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": f"{text} answers"},
                {"type": "tool_use", "id": text, "name": f"{text}read", "input": {text: text}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": text, "content": text}],
        },
    ]
    for number in range(turn):
        messages += [
            {"role": "assistant", "content": f"{text} told {number}"},
            {"role": "user", "content": f"{text} again {number}"},
        ]
    return {
        "model": text,
        "messages": messages,
        "system": system,
        "tools": tools if turn % 2 == 0 else tools[::-1],
        "metadata": {"user_id": text},
        f"field {text}": text,
        "max_tokens": 10,
        "temperature": 0.1 * turn,
    }


def _raw(value: Any) -> bytes:
    return json.dumps(value).encode()


def _reply(text: str) -> bytes:
    return _raw(
        {
            "model": text,
            "content": [{"type": "text", "text": f"{text} answers"}],
            "usage": {"input_tokens": 900, "cache_read_input_tokens": 1, text: text},
            "error": {"type": text, "message": text},
        }
    )


def exchanges(texts: Iterator[str] | tuple[str, ...] = TEXTS) -> Iterator[Exchange]:
    """Three requests of each text, one of another kind, and one that has failed."""
    clock = 1.8e9
    for text in texts:
        for turn in range(3):
            clock += 5
            info = ExchangeInfo(
                endpoint="messages",
                method=text,
                path=f"/v1/messages?{text}",
                model=text,
                response_model=text,
                status=200,
                started=clock,
                first_byte=clock + 0.5,
                first_token=clock + 1,
                ended=clock + 2,
                usage=Usage(input_tokens=900, cache_read=1),
                headers={"user-agent": text, "x-claude-code-agent-id": text, text: text},
                response_headers={"server": text, "request-id": text, text: text},
                notes=(text,),
                error=text if turn == 2 else None,
            )
            yield Exchange(info, _raw(body(text, turn)), _reply(text))
        other = ExchangeInfo(endpoint="other", method=text, path=f"/{text}", status=404, error=text)
        yield Exchange(other, text.encode("utf-8", "replace"), text.encode("utf-8", "replace"))
        cut = ExchangeInfo(endpoint="messages", path="/v1/messages", model=text, error=text)
        yield Exchange(cut, b'{"model": "%s' % text.encode("utf-8", "replace"))


def record(path: Path, texts: tuple[str, ...] = TEXTS) -> None:
    """Make the recording."""
    meta = {
        "backend": "".join(texts),
        "backend_version": texts[0],
        "backend_endpoints": "messages",
        "profile": "generic",
        "engine": texts[0],
        "client": texts[0],
        "upstream": texts[0],
    }
    with Session.create(path, meta=meta) as session:
        for each in exchanges(texts):
            session.append(each)


def rules(texts: Mapping[str, str] = POISON) -> RuleSet:
    """Rules of each text, as far as a rule file can hold it."""
    made = []
    for kind, text in texts.items():
        name = "*" if "]" in text else f"name={text}read"
        if not any("\ud800" <= one <= "\udfff" for one in text):
            made.append(
                Rule(
                    kind.replace(" ", "-"),
                    "V06",
                    "replace",
                    "messages",
                    f"tools[{name}].description",
                    pattern=rf"\A{re.escape(text)}",
                    value=f"{text}1",
                    evidence=Evidence(requests=3, tokens_saved=9, seen=(text, f"{text}1")),
                )
            )
    made.append(Rule("in-order", "O01", "sort", "messages", "tools", by="name"))
    made.append(Rule("off", "O01", "sort", "messages", "tools", by="name", enabled=False))
    return RuleSet(tuple(made))


def flows(path: Path) -> None:
    """Write flows as mitmproxy does, with poison where it keeps bytes."""
    from mitmproxy.io import FlowWriter
    from mitmproxy.test import tflow

    with path.open("wb") as file:
        writer = FlowWriter(file)
        for text in SOME:
            raw = text.encode("utf-8", "surrogatepass")
            flow = tflow.tflow(resp=True)
            flow.request.data.method = b"POST"
            flow.request.data.path = b"/v1/messages?" + raw
            flow.request.data.content = _raw(body(text, 1))
            flow.request.headers.fields = ((b"user-agent", raw), (b"x-claude-code-x", raw))
            assert flow.response is not None
            flow.response.data.reason = raw
            flow.response.data.content = raw
            flow.response.headers.fields = ((b"server", raw), (raw, raw))
            flow.comment = "comment"
            writer.add(flow)
