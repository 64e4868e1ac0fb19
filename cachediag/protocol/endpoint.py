"""Which protocol a request speaks, told by its path or by its body."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from cachediag.model import Endpoint, Json

__all__ = ["PATHS", "endpoint_of", "endpoint_of_body"]

PATHS: Final[dict[Endpoint, str]] = {
    "messages": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
}
"""Where each takes prompts, behind a server's base URL."""
# The longer endings first: the shorter ones end other paths too.
_ENDINGS: tuple[tuple[str, Endpoint], ...] = (
    ("/messages/count_tokens", "count_tokens"),
    ("/responses/input_tokens", "count_tokens"),
    ("/chat/completions", "chat"),
    ("/messages", "messages"),
    ("/responses", "responses"),
)
# The OpenAI assistants' own store of messages: nothing is generated there.
_STORE = re.compile(r"/threads/[^/]+/messages$")

_ANTHROPIC_FIELDS = {"system", "anthropic_version", "context_management", "stop_sequences"}
_ANTHROPIC_BLOCKS = {
    "tool_use",
    "tool_result",
    "server_tool_use",
    "thinking",
    "redacted_thinking",
    "document",
}
_CHAT_FIELDS = {
    "frequency_penalty",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "n",
    "presence_penalty",
    "response_format",
    "seed",
    "stop",
    "stream_options",
}
_CHAT_ROLES = {"system", "developer", "tool", "function"}
_CHAT_BLOCKS = {"image_url", "input_audio", "file"}
_EMBEDDING_FIELDS = {"encoding_format", "dimensions"}


def endpoint_of(path: str) -> Endpoint:
    """Return what a request path calls.

    Args:
        path: path or URL; any prefix may stand before the endpoint's own, and any query after.
    """
    plain = path.partition("#")[0].partition("?")[0].rstrip("/")
    if _STORE.search(plain):
        return "other"
    return next((endpoint for ending, endpoint in _ENDINGS if plain.endswith(ending)), "other")


def endpoint_of_body(body: Mapping[str, Json]) -> Endpoint:
    """Return what a bare body was most likely sent to.

    `/v1/messages` and `/v1/chat/completions` share most of their fields; what tells them apart is
    where the system prompt stands, and how tools and blocks are written. Where nothing does, it
    is `max_tokens`, which only the first demands.

    Args:
        body: the decoded body.

    Returns:
        `other` where the body holds no prompt.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        asked = isinstance(body.get("input"), list | str)
        return "responses" if asked and _EMBEDDING_FIELDS.isdisjoint(body) else "other"
    if _speaks_anthropic(body, messages):
        return "messages"
    if _speaks_chat(body, messages):
        return "chat"
    # OpenRouter takes cache markers in chat bodies too, so they decide only in the end.
    marked = any("cache_control" in block for block in _blocks(messages))
    return "messages" if marked or "max_tokens" in body else "chat"


def _speaks_anthropic(body: Mapping[str, Json], messages: list[Json]) -> bool:
    return (
        not _ANTHROPIC_FIELDS.isdisjoint(body)
        or any("input_schema" in tool for tool in _objects(body.get("tools")))
        or any(_is_one_of(_ANTHROPIC_BLOCKS, block.get("type")) for block in _blocks(messages))
    )


def _speaks_chat(body: Mapping[str, Json], messages: list[Json]) -> bool:
    return (
        not _CHAT_FIELDS.isdisjoint(body)
        or any("function" in tool for tool in _objects(body.get("tools")))
        or any(
            "tool_calls" in message or _is_one_of(_CHAT_ROLES, message.get("role"))
            for message in _objects(messages)
        )
        or any(_is_one_of(_CHAT_BLOCKS, block.get("type")) for block in _blocks(messages))
    )


def _blocks(messages: list[Json]) -> Iterator[Mapping[str, Json]]:
    for message in _objects(messages):
        yield from _objects(message.get("content"))


def _objects(values: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, dict))


def _is_one_of(names: set[str], value: Json) -> bool:
    return isinstance(value, str) and value in names
