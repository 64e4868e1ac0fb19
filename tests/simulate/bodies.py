"""Request bodies whose fields stand in the order that a test wants."""

import json
from typing import Any

from cachediag.session.source import MemorySource
from tests.verify.sessions import session

__all__ = ["ORDER", "body", "marked", "sent", "user"]

ORDER = ("model", "messages", "system", "tools", "max_tokens")
_TOOL = {"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object"}}
_SYSTEM = "The harbour master keeps the papers of every ship. " * 40


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def marked(text: str) -> dict[str, Any]:
    marker = {"type": "ephemeral"}
    return {
        "role": "user",
        "content": [{"type": "text", "text": text, "cache_control": marker}],
    }


def body(*messages: dict[str, Any], order: tuple[str, ...] = ORDER, **given: Any) -> bytes:
    fields = {
        "model": "recorded",
        "messages": list(messages),
        "system": [{"type": "text", "text": _SYSTEM}],
        "tools": [_TOOL],
        "max_tokens": 4096,
        **given,
    }
    named = {name: fields[name] for name in (*order, *(set(given) - set(order)))}
    return json.dumps(named, separators=(",", ":"), ensure_ascii=False).encode()


def sent(*bodies: bytes) -> MemorySource:
    return session(*bodies)
