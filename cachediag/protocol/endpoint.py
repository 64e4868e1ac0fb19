"""Which protocol a request speaks, told by its path or by its body."""

from collections.abc import Mapping

from cachediag.model import Endpoint, Json

__all__ = ["endpoint_of", "endpoint_of_body"]

# The longer endings first: the shorter ones end other paths too.
_ENDINGS: tuple[tuple[str, Endpoint], ...] = (
    ("/messages/count_tokens", "count_tokens"),
    ("/chat/completions", "chat"),
    ("/messages", "messages"),
    ("/responses", "responses"),
)
_ANTHROPIC_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "document"}


def endpoint_of(path: str) -> Endpoint:
    """The endpoint that a request path names; any prefix and any query may stand around it."""
    plain = path.partition("?")[0].rstrip("/")
    return next((endpoint for ending, endpoint in _ENDINGS if plain.endswith(ending)), "other")


def endpoint_of_body(body: Mapping[str, Json]) -> Endpoint:
    """The endpoint that a bare body was most likely sent to.

    `/v1/messages` and `/v1/chat/completions` share most of their fields; what tells them apart is
    where the system prompt stands, and how tools and blocks are written.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        return "responses" if "input" in body else "other"
    if "system" in body or _speaks_anthropic(body, messages):
        return "messages"
    return "chat" if _speaks_chat(body, messages) else "messages"


def _speaks_anthropic(body: Mapping[str, Json], messages: list[Json]) -> bool:
    tools = body.get("tools")
    if any(isinstance(tool, dict) and "input_schema" in tool for tool in tools or ()):
        return True
    contents = (m.get("content") for m in messages if isinstance(m, dict))
    blocks = (b for content in contents if isinstance(content, list) for b in content)
    return any(
        isinstance(b, dict) and (b.get("type") in _ANTHROPIC_BLOCKS or "cache_control" in b)
        for b in blocks
    )


def _speaks_chat(body: Mapping[str, Json], messages: list[Json]) -> bool:
    tools = body.get("tools")
    if any(isinstance(tool, dict) and "function" in tool for tool in tools or ()):
        return True
    if any(isinstance(m, dict) and ("tool_calls" in m or _is_chat_role(m)) for m in messages):
        return True
    return "max_tokens" not in body


def _is_chat_role(message: Mapping[str, Json]) -> bool:
    return message.get("role") in ("system", "developer", "tool", "function")
