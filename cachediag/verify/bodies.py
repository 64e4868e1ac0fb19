"""Recorded bodies made fit for a replay: fields replaced, the prompt made new to every cache."""

from collections.abc import Mapping

from cachediag.model import Endpoint
from cachediag.protocol import jsontext, parse
from cachediag.protocol.jsontext import Span

__all__ = ["replayed", "salted", "with_fields"]

# How many tokens may be generated; of several names the first is the one to add.
_LIMITS: dict[str, tuple[str, ...]] = {
    "messages": ("max_tokens",),
    "chat": ("max_tokens", "max_completion_tokens"),
    "responses": ("max_output_tokens",),
}


def replayed(body: bytes, endpoint: Endpoint, *, model: str | None, max_tokens: int) -> bytes:
    """A recorded body as it is sent again: the same prompt, and a short reply.

    A streamed chat is asked to report its usage, which it does not by itself.

    Args:
        body: the raw body.
        endpoint: its protocol.
        model: the name that the backend's model has; None leaves the recorded one.
        max_tokens: how many tokens may be generated.

    Raises:
        InputError: the body is no JSON object.
    """
    members = dict(jsontext.members(body, jsontext.whole(body)))
    limits = _LIMITS.get(endpoint, ())
    names = [name for name in limits if name in members] or list(limits[:1])
    fields = dict.fromkeys(names, b"%d" % max_tokens)
    if model is not None:
        fields["model"] = jsontext.encode(model)
    stream = members.get("stream")
    if endpoint == "chat" and stream and body[stream.start : stream.end] == b"true":
        fields["stream_options"] = b'{"include_usage":true}'
    return with_fields(body, fields)


def with_fields(body: bytes, fields: Mapping[str, bytes]) -> bytes:
    """A body with some of its top-level fields replaced, and those added that it lacks.

    All else is as it was, byte for byte.

    Args:
        body: the raw body.
        fields: raw JSON by name.

    Raises:
        InputError: the body is no JSON object.
    """
    whole = jsontext.whole(body)
    members = dict(jsontext.members(body, whole))
    cuts = [(span, fields[name]) for name, span in members.items() if name in fields]
    added = b"".join(
        b"," + jsontext.encode(name) + b":" + raw
        for name, raw in fields.items()
        if name not in members
    )
    if added:
        cuts.append((Span(whole.end - 1, whole.end - 1), added if members else added[1:]))
    for span, raw in sorted(cuts, reverse=True):
        body = body[: span.start] + raw + body[span.end :]
    return body


def salted(body: bytes, endpoint: Endpoint, salt: str) -> bytes:
    """A body whose prompt begins with something that no cache holds.

    The salt stands on a line of its own: what begins the text still begins a line, and is found by
    servers that look for it there.

    Args:
        body: the raw body.
        endpoint: its protocol.
        salt: plain words; equal salts make equal heads.

    Returns:
        The body, the salt at the head of its first text outside the tools; unchanged where it has
        no text.
    """
    first = next(
        (block for block in parse(body, endpoint).blocks if block.section != "tools"), None
    )
    if first is None or first.kind != "text":
        return body
    at = first.start
    if not first.is_string:
        inside = dict(jsontext.members(body, Span(first.start, first.end)))
        at = inside["text"].start
    return body[: at + 1] + jsontext.encode(f"{salt}\n")[1:-1] + body[at + 1 :]
