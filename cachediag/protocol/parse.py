"""A request body of any of the protocols → `Prompt`."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import takewhile

from cachediag.errors import InputError
from cachediag.model import Block, Endpoint, Part, Prompt, Run
from cachediag.protocol import chat, jsontext, messages, responses
from cachediag.protocol.blocks import Place, top_level
from cachediag.protocol.endpoint import endpoint_of_body
from cachediag.protocol.fields import Field
from cachediag.protocol.jsontext import Span

__all__ = ["Parser", "parse", "part_digest"]

_FIELDS: dict[Endpoint, tuple[Field, ...]] = {
    "messages": messages.FIELDS,
    "count_tokens": messages.FIELDS,
    "chat": chat.FIELDS,
    "responses": responses.FIELDS,
}


def parse(body: bytes, endpoint: Endpoint | None = None) -> Prompt:
    """Turn one request body into its blocks in cache order; see `Parser.parse`."""
    return Parser().parse(body, endpoint)


class Parser:
    """Parses the bodies of a session, each tool, system block and message of them once."""

    def __init__(self) -> None:
        self._parts: dict[tuple[Field, bytes], Part] = {}

    def parse(self, body: bytes, endpoint: Endpoint | None = None) -> Prompt:
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
            endpoint = endpoint_of_body(
                {name: jsontext.decode(body[at.start : at.end]) for name, at in top.items()}
            )
        fields = _FIELDS.get(endpoint, ())
        names = {field.name for field in fields}
        if not names & top.keys():
            raise InputError(
                "a JSON object, but not a request body: it has no messages",
                remedy="Give the body of a request to /v1/messages, /v1/chat/completions or "
                "/v1/responses.",
            )
        params = {
            name: jsontext.encode(jsontext.decode(body[at.start : at.end]))
            for name, at in top.items()
            if name not in names
        }
        model = jsontext.decode(params["model"]) if "model" in params else None
        return Prompt(
            endpoint=endpoint,
            model=model if isinstance(model, str) else None,
            runs=tuple(
                run
                for field in fields
                if field.name in top
                for run in self._runs(body, field, top[field.name])
            ),
            params=params,
            body=body,
        )

    def _runs(self, body: bytes, field: Field, at: Span) -> Iterator[Run]:
        opening = body[at.start : at.start + 1]
        if opening == b"n":
            return
        if opening != b"[" and not field.may_be_single:
            raise InputError(f"expected an array at byte {at.start}", remedy="Give a request body.")
        spans = list(jsontext.items(body, at)) if opening == b"[" else [at]
        parts = [self._part(field, body[span.start : span.end]) for span in spans]
        leading = 0
        if field.leads_with_system:
            leading = sum(1 for _ in takewhile(field.leads_with_system, parts))
        for section, first, last in (
            ("system", 0, leading),
            (field.section, leading, len(parts)),
        ):
            if last > first:
                yield Run(
                    section=section,  # type: ignore[arg-type]
                    path=field.name,
                    parts=tuple(parts[first:last]),
                    starts=tuple(span.start for span in spans[first:last]),
                    indexes=tuple(range(first, last)) if opening == b"[" else None,
                    is_messages=field.is_messages,
                )

    def _part(self, field: Field, raw: bytes) -> Part:
        part = self._parts.get((field, raw))
        if part is None:
            part = self._parts[field, raw] = _new_part(field, raw)
        return part


def _new_part(field: Field, raw: bytes) -> Part:
    blocks = tuple(field.blocks(Place(raw, Span(0, len(raw)), "", "")))
    return Part(raw, blocks, part_digest(blocks))


def part_digest(blocks: Iterable[Block]) -> bytes:
    """What two parts have in common that are the same to every cache."""
    digest = blake2b(digest_size=16)
    for block in blocks:
        digest.update(block.role.encode("utf-8", "surrogatepass") + b"\0" + block.canonical + b"\0")
    return digest.digest()
