"""Sessions of made-up requests."""

import json
from typing import Any

from cachediag.model import Endpoint, Exchange, ExchangeInfo
from cachediag.session.source import MemorySource, numbered

__all__ = ["chat", "messages", "session", "tool"]

Value = dict[str, Any]


def tool(schema: Any, name: str = "book", **more: Any) -> Value:
    return {"name": name, "description": "Book.", "input_schema": schema, **more}


def messages(*tools: Value, **more: Any) -> Value:
    said = [{"role": "user", "content": "Which berth?"}]
    return {"model": "m", "max_tokens": 9, "tools": list(tools), "messages": said, **more}


def chat(**more: Any) -> Value:
    return {"model": "m", "messages": [{"role": "user", "content": "Which berth?"}], **more}


def session(
    *bodies: Value | bytes, endpoint: Endpoint = "messages", agent: str | None = None
) -> MemorySource:
    info = ExchangeInfo(
        endpoint=endpoint, path="/v1/x", headers={"user-agent": agent} if agent else {}
    )
    raw = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in bodies]
    return numbered("made-up", [Exchange(info, each) for each in raw])
