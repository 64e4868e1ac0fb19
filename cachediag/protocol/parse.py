"""A request body of any of the protocols → `Prompt`."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cachediag.errors import InputError
from cachediag.model import Block, Endpoint, Prompt
from cachediag.protocol import chat, jsontext, messages, responses
from cachediag.protocol.blocks import Place, top_level
from cachediag.protocol.endpoint import endpoint_of_body

__all__ = ["parse"]


class _Parser(NamedTuple):
    blocks: Callable[[dict[str, Place]], Iterator[Block]]
    prompt_fields: tuple[str, ...]


_PARSERS: dict[Endpoint, _Parser] = {
    "messages": _Parser(messages.blocks, messages.PROMPT_FIELDS),
    "count_tokens": _Parser(messages.blocks, messages.PROMPT_FIELDS),
    "chat": _Parser(chat.blocks, chat.PROMPT_FIELDS),
    "responses": _Parser(responses.blocks, responses.PROMPT_FIELDS),
}


def parse(body: bytes, endpoint: Endpoint | None = None) -> Prompt:
    """Turn a request body into its blocks in cache order.

    Every block is kept, of whatever type; its span is its place in `body`, so that
    `body[block.start:block.end]` is the block's own JSON.

    Args:
        body: the raw body, content-encoding undone.
        endpoint: the protocol; told from the body itself where it is not given.

    Raises:
        InputError: the body is not JSON, or no request body of a known protocol.
    """
    top = top_level(body)
    if endpoint is None:
        endpoint = endpoint_of_body({name: jsontext.decode(at.raw) for name, at in top.items()})
    parser = _PARSERS.get(endpoint)
    if parser is None or not any(name in top for name in parser.prompt_fields):
        raise InputError(
            "a JSON object, but not a request body: it has no messages",
            remedy="Give the body of a request to /v1/messages, /v1/chat/completions or "
            "/v1/responses.",
        )
    params = {
        name: jsontext.encode(jsontext.decode(at.raw))
        for name, at in top.items()
        if name not in parser.prompt_fields
    }
    model = jsontext.decode(params["model"]) if "model" in params else None
    return Prompt(
        endpoint=endpoint,
        model=model if isinstance(model, str) else None,
        blocks=tuple(parser.blocks(top)),
        params=params,
        body=body,
    )
