"""HAR 1.2, as browsers and proxies export it."""

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import datetime

from cachediag.capture.exchange import RawExchange
from cachediag.capture.importers.reading import Input, placed
from cachediag.capture.importers.wire import Intake, called, decoded, fields, left_out, target_of
from cachediag.errors import InputError
from cachediag.model import Json
from cachediag.protocol import jsontext
from cachediag.session import Source
from cachediag.session.source import numbered

__all__ = ["Har"]

_LOG = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:\s*\{')
_BEFORE_FIRST_BYTE = ("blocked", "dns", "connect", "send", "wait")


class Har:
    """Reads HAR files."""

    def recognises(self, source: Input) -> bool:
        """Tell by the one top-level key, `log`."""
        return _LOG.match(source.head()) is not None

    def read(self, source: Input) -> Source:
        """Read all entries; requests that are no model calls come without bodies.

        A HAR holds bodies as text. Where that text cannot be the bytes that were sent, the
        exchange's notes say so.

        Raises:
            InputError: it is not JSON, an entry is not one, or there is none.
        """
        document = source.document()
        with placed(source.where):
            jsontext.check(document)
        intake = Intake()
        exchanges = []
        with placed(source.where):
            for number, entry in enumerate(_entries(document, source.where)):
                with placed(source.where, f"entry {number}"):
                    exchanges.append(intake.exchange(_raw(entry)))
        if not exchanges:
            raise InputError(
                "the HAR holds no requests",
                where=source.where,
                remedy="Record one: cachediag record -- claude",
            )
        return numbered(source.name, exchanges, left_out(exchanges))


def _entries(document: bytes, where: str) -> Iterator[Json]:
    # One entry at a time is looked for and decoded: a browser's HAR holds far more than what is
    # kept of it, and a list of where all of them are may take forty times the file.
    log = dict(jsontext.members(document, jsontext.whole(document)))["log"]
    entries = dict(jsontext.members(document, log)).get("entries")
    if entries is None or document[entries.start : entries.start + 1] != b"[":
        raise InputError(
            'a HAR without a list of "entries"', where=where, remedy="Export the HAR again"
        )
    try:
        for span in jsontext.each_item(document, entries.start + 1, entries):
            yield jsontext.decode(document[span.start : span.end])
    except RecursionError:
        raise jsontext.too_deep() from None
    except ValueError:
        # It says what is wrong, and where.
        jsontext.decode(document[entries.start : entries.end])
        raise


def _raw(entry: Json) -> RawExchange:
    try:
        return _read(entry)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            "not an entry as HAR 1.2 describes it", remedy="Export the HAR again"
        ) from error


def _read(entry: Json) -> RawExchange:
    request: Json = entry["request"]
    response: Json = entry.get("response") or {}
    path = target_of(request["url"])
    endpoint = called(request["method"], path)
    headers = _pairs(request)
    notes: list[str] = []
    body = _request_body(request, notes) if endpoint != "other" else b""
    content = _response_body(response, notes) if endpoint != "other" else b""
    started = _epoch(entry.get("startedDateTime"))
    ended = _after(started, entry.get("time"))
    # A browser writes status 0 for a request that got no response.
    status = int(response.get("status") or 0) or None
    return RawExchange(
        endpoint=endpoint,
        method=request["method"],
        path=path,
        headers=fields(decoded(headers) if body.lstrip().startswith(b"{") else headers),
        body=body,
        started=started,
        status=status,
        response_headers=fields(decoded(_pairs(response))),
        chunks=((ended or 0.0, content),) if content else (),
        first_byte=_after(started, _until_first_byte(entry.get("timings"))) if status else None,
        ended=ended,
        notes=tuple(notes),
        error=None if status else "no response",
    )


def _pairs(message: Json) -> list[tuple[str, str]]:
    return [(str(h["name"]), str(h["value"])) for h in message.get("headers") or ()]


def _request_body(request: Json, notes: list[str]) -> bytes:
    posted = request.get("postData") or {}
    body = _bytes(posted)
    size = request.get("bodySize")
    if body is None:
        notes.append("request: the body is not in the HAR")
        return b""
    encoded = any(name.lower() == "content-encoding" for name, _ in _pairs(request))
    if isinstance(size, int) and size > 0 and size != len(body) and not encoded:
        notes.append(f"request: {size} bytes were sent, the HAR gives {len(body)}")
    return body


def _response_body(response: Json, notes: list[str]) -> bytes:
    body = _bytes(response.get("content") or {})
    if not body and response.get("status"):
        notes.append("response: the body is not in the HAR")
    return body or b""


def _bytes(content: Json) -> bytes | None:
    text = content.get("text")
    if text is None:
        return None
    if content.get("encoding") == "base64":
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise InputError("a body is not base64", remedy="Export the HAR again") from error
    encoded: bytes = text.encode("utf-8", "surrogatepass")
    return encoded


def _epoch(text: Json) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def _after(started: float | None, milliseconds: Json) -> float | None:
    if started is None or not isinstance(milliseconds, int | float) or milliseconds < 0:
        return None
    return started + milliseconds / 1000


def _until_first_byte(timings: Json) -> float | None:
    if not isinstance(timings, dict) or not isinstance(timings.get("wait"), int | float):
        return None
    # A phase that did not take place is -1; `ssl` is part of `connect`.
    values = [timings.get(name) for name in _BEFORE_FIRST_BYTE]
    return sum(value for value in values if isinstance(value, int | float) and value > 0)
