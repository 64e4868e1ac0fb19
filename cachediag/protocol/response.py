"""Model and usage out of a response body, and the first sign of a generated token.

A response is JSON or an SSE stream, and may have been cut off anywhere; whatever cannot be read is
left out, nothing here raises.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from cachediag.model import Endpoint, Json, Usage

__all__ = ["ResponseFacts", "count", "events", "has_token", "read_response"]


@dataclass(frozen=True, slots=True)
class ResponseFacts:
    """What a response says of itself; None where it says nothing."""

    model: str | None = None
    usage: Usage | None = None


_decoder = msgspec.json.Decoder()

_FACTS = re.compile(rb'"(?:usage|model)"')
_DELTA = re.compile(rb"delta")
_DATA = re.compile(rb"data:")


def read_response(endpoint: Endpoint, content_type: str | None, body: bytes) -> ResponseFacts:
    """Read model and usage out of a response.

    Args:
        endpoint: what was called.
        content_type: the response's content type; the body's first character decides where it is
            missing or wrong.
        body: the whole body, its content-encoding undone; an SSE stream may be incomplete.

    Returns:
        What was found. Counts that the response does not give stay None, which is not zero.
    """
    if endpoint not in {"messages", "chat", "responses"}:
        return ResponseFacts()
    return _facts(endpoint, events(content_type, body, _FACTS))


def events(
    content_type: str | None, body: bytes, needle: re.Pattern[bytes] = _DATA
) -> Iterator[Json]:
    """The JSON values of a response: of its events, or the one that it is.

    Args:
        content_type: the response's content type.
        body: the whole body.
        needle: only those events of a stream in which it is found; by default all.
    """
    return _events(body, needle) if _is_sse(content_type, body) else iter((_decode(body),))


def _is_sse(content_type: str | None, body: bytes) -> bool:
    first = body.lstrip()[:1]
    if first in {b"{", b"["}:
        return False
    return (content_type or "").startswith("text/event-stream") or first != b""


def _decode(data: bytes) -> Json:
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _events(stream: bytes, needle: re.Pattern[bytes]) -> Iterator[Json]:
    """Decode the data of those events in which the needle is found."""
    end = 0
    while found := needle.search(stream, end):
        start = stream.rfind(b"\n", end, found.start()) + 1
        end = stream.find(b"\n", found.end())
        end = len(stream) if end < 0 else end
        if stream.startswith(b"data:", start):
            yield _decode(stream[start + 5 : end])


def _facts(endpoint: Endpoint, told: Iterator[Json]) -> ResponseFacts:
    model: str | None = None
    usage: Usage | None = None
    for event in told:
        for holder in _holders(endpoint, event):
            found = holder.get("model")
            model = found if isinstance(found, str) and found else model
            counts = holder.get("usage")
            if isinstance(counts, dict):
                usage = _merged(usage, _USAGE[endpoint](counts))
    return ResponseFacts(model, usage)


def _holders(endpoint: Endpoint, event: Json) -> Iterator[dict[str, Json]]:
    """Give the objects of an event that may carry `model` and `usage`."""
    if not isinstance(event, dict):
        return
    yield event
    inner = event.get({"messages": "message", "responses": "response"}.get(endpoint, ""))
    if isinstance(inner, dict):
        yield inner


def _messages_usage(counts: dict[str, Json]) -> Usage:
    return Usage(
        input_tokens=count(counts, "input_tokens"),
        cache_read=count(counts, "cache_read_input_tokens"),
        cache_creation=count(counts, "cache_creation_input_tokens"),
        output_tokens=count(counts, "output_tokens"),
    )


def _chat_usage(counts: dict[str, Json]) -> Usage:
    return Usage(
        input_tokens=count(counts, "prompt_tokens"),
        cache_read=count(counts.get("prompt_tokens_details"), "cached_tokens"),
        output_tokens=count(counts, "completion_tokens"),
    )


def _responses_usage(counts: dict[str, Json]) -> Usage:
    return Usage(
        input_tokens=count(counts, "input_tokens"),
        cache_read=count(counts.get("input_tokens_details"), "cached_tokens"),
        output_tokens=count(counts, "output_tokens"),
    )


_USAGE = {"messages": _messages_usage, "chat": _chat_usage, "responses": _responses_usage}


def count(counts: Json, name: str) -> int | None:
    """A count that a response gives; None where it gives none, or no whole number of things."""
    value = counts.get(name) if isinstance(counts, dict) else None
    return value if type(value) is int and value >= 0 else None


def _merged(earlier: Usage | None, later: Usage) -> Usage:
    """Take the later counts, where they say something.

    A stream counts the prompt at its start and the output at its end. Some servers fill the fields
    they do not know at either end with zero, so a zero does not replace a count.
    """
    if earlier is None:
        return later
    return Usage(
        *(
            new if new or old is None else old
            for old, new in (
                (earlier.input_tokens, later.input_tokens),
                (earlier.cache_read, later.cache_read),
                (earlier.cache_creation, later.cache_creation),
                (earlier.output_tokens, later.output_tokens),
            )
        )
    )


def has_token(endpoint: Endpoint, chunk: bytes) -> bool:
    """Tell whether whole lines of an SSE stream carry generated text.

    The first event is no such sign: some servers send `message_start`, or a delta that holds only
    the role, before they have read the prompt.

    Args:
        endpoint: what was called.
        chunk: complete lines of the stream.

    Returns:
        True if any delta in it holds text, thinking or a tool call.
    """
    carries = _TOKEN.get(endpoint)
    if carries is None:
        return False
    return any(isinstance(event, dict) and carries(event) for event in _events(chunk, _DELTA))


def _messages_token(event: dict[str, Json]) -> bool:
    delta = event.get("delta")
    if event.get("type") != "content_block_delta" or not isinstance(delta, dict):
        return False
    return any(value for name, value in delta.items() if name != "type")


def _chat_token(event: dict[str, Json]) -> bool:
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if isinstance(delta, dict) and any(v for name, v in delta.items() if name != "role"):
            return True
    return False


def _responses_token(event: dict[str, Json]) -> bool:
    kind = event.get("type")
    return isinstance(kind, str) and kind.endswith(".delta") and bool(event.get("delta"))


_TOKEN = {"messages": _messages_token, "chat": _chat_token, "responses": _responses_token}
