"""One JSON object → one exchange: a bare request body, or a log record that holds one."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, TypeVar

from cachediag.capture.exchange import RawExchange
from cachediag.capture.importers.wire import called, decoded, fields, imported, target_of
from cachediag.capture.masking import Secrets
from cachediag.errors import InputError
from cachediag.model import Exchange, Json
from cachediag.protocol import jsontext
from cachediag.protocol.endpoint import PATHS, endpoint_of_body

__all__ = ["exchange_of"]

Members = Mapping[str, bytes]
"""An object's values as raw JSON, by name in lower case without `_` and `-`."""

_BODY_KEYS: Final = (
    "body",
    "requestbody",
    "rawrequest",
    "request",
    "payload",
    "params",
    "json",
    "data",
    "input",
    "kwargs",
)
_RESPONSE_KEYS: Final = ("responsebody", "rawresponse", "response", "completion")
_CONTENT_KEYS: Final = ("bodyraw", "rawbody", "body", "text")
_PATH_KEYS: Final = ("url", "path", "endpoint")
_STATUS_KEYS: Final = ("statuscode", "status")
_TIME_KEYS: Final = ("timestamp", "startedat", "starttime", "started", "createdat", "time")
_DEPTH: Final = 4
_LATEST: Final = 1e14
"""Milliseconds since the epoch, or seconds; more is no time."""
T = TypeVar("T")


def exchange_of(document: bytes, secrets: Secrets) -> Exchange | None:
    """Read the exchange out of a JSON object.

    The body is kept byte for byte as it stands in the object; a body written as a JSON string is
    that string's text. Path, status, time, headers and response are taken along where the
    object has them under a common name.

    Args:
        document: one JSON object.
        secrets: credentials of the file so far; those of this exchange are added.

    Returns:
        The exchange; None where the object holds no request body.

    Raises:
        InputError: the document, or the body inside it, is not JSON.
    """
    found = _find(document, _DEPTH)
    if found is None:
        return None
    body, scopes = found
    guessed = endpoint_of_body(jsontext.decode(body))
    answer, answer_scopes = _answer(scopes)
    url = _first(scopes, _PATH_KEYS, str)
    path = None if url is None else target_of(url)
    method = _first(scopes, ("method",), str) or "POST"
    endpoint = "other" if path is None else called(method, path)
    if path is None or endpoint == "other":
        # What holds a prompt was sent to a model, whatever the address is called.
        endpoint, path = guessed, path or PATHS[guessed]
    started = _time(scopes)
    raw = RawExchange(
        endpoint=endpoint,
        method=method,
        path=path,
        headers=fields(decoded(_headers(scopes))),
        body=body,
        started=started,
        status=_first([*answer_scopes, *scopes], _STATUS_KEYS, int),
        response_headers=fields(decoded(_headers(answer_scopes))),
        chunks=((0.0, answer),) if answer else (),
    )
    return imported(raw, secrets)


def _find(raw: bytes, depth: int) -> tuple[bytes, list[Members]] | None:
    """Return the body in a value, and the objects around it, the innermost first."""
    if raw.startswith(b'"'):
        text = jsontext.decode(raw).encode("utf-8", "surrogatepass")
        return _find_in_text(text, depth)
    raw = raw.strip()
    if not raw.startswith(b"{"):
        return None
    members = _members(raw)
    if _is_body(members, raw):
        return raw, [members]
    for key in _BODY_KEYS if depth else ():
        found = _find(members[key], depth - 1) if key in members else None
        if found is not None:
            return found[0], [*found[1], members]
    return None


def _find_in_text(text: bytes, depth: int) -> tuple[bytes, list[Members]] | None:
    if not text.lstrip().startswith(b"{"):
        return None
    try:
        found = _find(text, depth)
    except InputError as error:
        # Loggers cut long strings; other text may begin with a brace too.
        if b'"messages"' not in text and b'"input"' not in text:
            return None
        raise InputError(
            f"the body inside the record: {error.message}", remedy=error.remedy
        ) from error
    # Alone in its string, the white space around a body was sent too.
    return (text, found[1]) if found is not None and found[0] == text.strip() else found


def _members(raw: bytes) -> dict[str, bytes]:
    return {
        name.lower().replace("_", "").replace("-", ""): raw[span.start : span.end]
        for name, span in jsontext.members(raw, jsontext.whole(raw))
    }


def _is_body(members: Members, raw: bytes) -> bool:
    if not members.get("messages", b"").startswith(b"["):
        asked = members.get("input", b"").startswith((b"[", b'"'))
        if not asked or "model" not in members:
            return False
    return endpoint_of_body(jsontext.decode(raw)) in PATHS


def _answer(scopes: list[Members]) -> tuple[bytes, list[Members]]:
    """Return the response's body, and the object around it where there is one."""
    for scope in scopes:
        for key in _RESPONSE_KEYS:
            raw = scope.get(key, b"null")
            if raw.startswith(b'"'):
                return _text(raw), []
            if raw.startswith(b"{"):
                return _content(raw)
    return b"", []


def _content(raw: bytes) -> tuple[bytes, list[Members]]:
    members = _members(raw)
    for key in _CONTENT_KEYS if {"headers", *_STATUS_KEYS} & members.keys() else ():
        if members.get(key, b"null") != b"null":
            value = members[key]
            return _text(value) if value.startswith(b'"') else value, [members]
    return raw, [members]


def _text(raw: bytes) -> bytes:
    encoded: bytes = jsontext.decode(raw).encode("utf-8", "surrogatepass")
    return encoded


def _values(scopes: list[Members], keys: tuple[str, ...]) -> Iterator[Json]:
    for scope in scopes:
        for key in keys:
            if key in scope:
                yield jsontext.decode(scope[key])


def _first(scopes: list[Members], keys: tuple[str, ...], kind: type[T]) -> T | None:
    values = _values(scopes, keys)
    return next((value for value in values if type(value) is kind), None)


def _headers(scopes: list[Members]) -> list[tuple[str, str]]:
    for value in _values(scopes, ("headers", "requestheaders")):
        if isinstance(value, dict):
            return [(name, text) for name, text in value.items() if isinstance(text, str)]
        if isinstance(value, list):
            return [pair for item in value if (pair := _pair(item)) is not None]
    return []


def _pair(item: Json) -> tuple[str, str] | None:
    if isinstance(item, dict):
        item = [item.get("name"), item.get("value")]
    if isinstance(item, list) and len(item) == 2 and all(isinstance(part, str) for part in item):
        return item[0], item[1]
    return None


def _time(scopes: list[Members]) -> float | None:
    for value in _values(scopes, _TIME_KEYS):
        if isinstance(value, str):
            try:
                return datetime.fromisoformat(value).timestamp()
            except (ValueError, OverflowError):
                continue
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _LATEST:
            # Milliseconds, where seconds would be past the year 5000.
            return value / 1000 if value > 1e11 else float(value)
    return None
