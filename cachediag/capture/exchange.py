"""From what was heard on the wire to the exchange that is kept."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachediag.capture.encoding import EncodingError, decode, decode_chunks
from cachediag.capture.masking import Secrets, mask
from cachediag.capture.redact import (
    body_credentials,
    credentials,
    safe_headers,
    safe_path,
    scrub,
)
from cachediag.model import Endpoint, Exchange, ExchangeInfo
from cachediag.protocol.request import read_model
from cachediag.protocol.response import has_token, read_response

__all__ = ["CHUNK_MEMORY", "Chunk", "Fields", "RawExchange", "assemble"]

Chunk = tuple[float, bytes]
"""When a piece of the response body arrived (seconds since the epoch), and its bytes."""

CHUNK_MEMORY = 128
"""Bytes that a chunk takes beside its data: an answer may come a byte at a time."""

Fields = tuple[tuple[bytes, bytes], ...]
"""Headers as they came: name and value, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawExchange:
    """One request and its response as they passed by, nothing decoded or redacted yet."""

    endpoint: Endpoint
    method: str
    path: str
    headers: Fields
    body: bytes
    """Encoded as sent; empty where bodies are not kept."""
    outgoing: bytes | None = None
    """The body that went on, where that is another one; encoded as it went."""
    outgoing_headers: Fields = ()
    """Those that went on with it."""
    started: float | None = None
    """In seconds since the epoch, as the other times are."""
    status: int | None = None
    """Of HTTP; None where no response came."""
    response_headers: Fields = ()
    chunks: tuple[Chunk, ...] = ()
    first_byte: float | None = None
    ended: float | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None


def assemble(raw: RawExchange, secrets: Secrets) -> Exchange:
    """Undo encodings, redact, and read out what the exchange says of itself.

    Args:
        raw: what passed by.
        secrets: the recording's credentials; those of this exchange are added.

    Returns:
        The exchange to store. A body whose content-encoding cannot be undone is kept as sent,
        which `info.notes` says.
    """
    headers = _text(raw.headers)
    response_headers = _text(raw.response_headers)
    notes = list(raw.notes)
    request = _request_body("request", raw.body, headers, notes)
    outgoing = _outgoing_body(raw, request, notes)
    response, first_token = _response_body(raw, response_headers, notes)
    # A server may set a new cookie with every response; the client's own header tells which ones
    # are in use.
    secrets.add(
        *credentials(headers, raw.path),
        *credentials(_text(raw.outgoing_headers), ""),
        *body_credentials(request),
        *body_credentials(outgoing or b""),
    )
    known = (secrets, Secrets(credentials(response_headers, "")))
    content_type = _named(response_headers, "content-type")
    facts = read_response(raw.endpoint, content_type, response)
    request = _masked(request, known, "request", notes)
    response = _masked(response, known, "response", notes)
    if outgoing is not None:
        outgoing = _masked(outgoing, known, "outgoing", notes)
    info = ExchangeInfo(
        endpoint=raw.endpoint,
        method=raw.method,
        path=scrub(safe_path(raw.path), known),
        started=raw.started,
        first_byte=raw.first_byte,
        first_token=first_token,
        ended=raw.ended,
        status=raw.status,
        model=read_model(request),
        response_model=facts.model,
        usage=facts.usage,
        headers=safe_headers(headers, known),
        response_headers=safe_headers(response_headers, known),
        request_size=len(request),
        response_size=len(response),
        outgoing_size=None if outgoing is None else len(outgoing),
        notes=tuple(notes),
        error=None if raw.error is None else scrub(raw.error, known),
    )
    return Exchange(info, request, response, outgoing)


def _text(fields: Fields) -> tuple[tuple[str, str], ...]:
    return tuple((n.decode(errors="replace"), v.decode(errors="replace")) for n, v in fields)


def _named(headers: tuple[tuple[str, str], ...], name: str) -> str:
    return ", ".join(value for key, value in headers if key.lower() == name)


def _masked(body: bytes, known: Sequence[Secrets], which: str, notes: list[str]) -> bytes:
    body, places = mask(body, known)
    if places:
        notes.append(f"{which}: a credential masked in {places} places")
    return body


def _request_body(
    which: str, body: bytes, headers: tuple[tuple[str, str], ...], notes: list[str]
) -> bytes:
    encoding = _named(headers, "content-encoding")
    if not body or not encoding:
        return body
    try:
        decoded = decode(encoding, body)
    except EncodingError as error:
        notes.append(f"{which}: kept as sent, {error}")
        return body
    notes.append(f"{which}: content-encoding {encoding} undone")
    return decoded


def _outgoing_body(raw: RawExchange, request: bytes, notes: list[str]) -> bytes | None:
    """Give the decoded body that went on; None where it says the same as the one that came."""
    if raw.outgoing is None:
        return None
    told: list[str] = []
    outgoing = _request_body("outgoing", raw.outgoing, _text(raw.outgoing_headers), told)
    if outgoing == request:
        return None
    notes += told
    return outgoing


def _response_body(
    raw: RawExchange, headers: tuple[tuple[str, str], ...], notes: list[str]
) -> tuple[bytes, float | None]:
    """Give the decoded response body, and when its first generated token arrived."""
    encoding = _named(headers, "content-encoding")
    streamed = "text/event-stream" in _named(headers, "content-type")
    arrivals = (arrival for arrival, _ in raw.chunks)
    chunks = (data for _, data in raw.chunks)
    pieces: list[bytes] = []
    line: list[bytes] = []
    first_token: float | None = None
    try:
        decoded = decode_chunks(encoding, chunks) if encoding else chunks
        for piece, arrival in zip(decoded, arrivals, strict=True):
            pieces.append(piece)
            if streamed and first_token is None:
                # An event may be split between chunks; it counts when its line is complete.
                end = piece.rfind(b"\n") + 1
                if end and has_token(raw.endpoint, b"".join((*line, piece[:end]))):
                    first_token = arrival
                if end:
                    line = []
                line.append(piece[end:])
    except EncodingError as error:
        notes.append(f"response: kept as sent, {error}")
        return b"".join(data for _, data in raw.chunks), None
    if encoding and raw.chunks:
        notes.append(f"response: content-encoding {encoding} undone")
    return b"".join(pieces), first_token
