"""Small requests, as the tests of rendering need them."""

import json
from typing import Any

from cachediag.model import Prompt
from cachediag.protocol import Parser, parse

__all__ = ["TOOL", "chat", "messages", "posted", "prompt"]

TOOL = {
    "name": "Bash",
    "description": "Run ü.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}


def prompt(body: dict[str, Any], endpoint: Any, parser: Parser | None = None) -> Prompt:
    raw = json.dumps({"model": "m", "stream": True} | body, ensure_ascii=False).encode()
    return parser.parse(raw, endpoint) if parser else parse(raw, endpoint)


def messages(*turns: tuple[str, Any], **more: Any) -> Prompt:
    """A request to `/v1/messages` of these roles and contents."""
    body = {"messages": [{"role": role, "content": content} for role, content in turns]}
    return prompt(body | more, "messages")


def chat(*turns: dict[str, Any], **more: Any) -> Prompt:
    """A request to `/v1/chat/completions` of these messages."""
    return prompt({"messages": list(turns)} | more, "chat")


def posted(path: str, raw: bytes, parser: Parser) -> Prompt:
    """The request that a body to one of the two paths is."""
    return parser.parse(raw, "messages" if path == "/v1/messages" else "chat")
