"""From what another tool recorded to the exchange that is kept: redacted, as a recorder would."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cachediag.capture.exchange import RawExchange, assemble
from cachediag.capture.masking import Secrets
from cachediag.errors import InputError
from cachediag.model import Endpoint, Exchange
from cachediag.protocol import jsontext
from cachediag.protocol.endpoint import endpoint_of

__all__ = [
    "Intake",
    "called",
    "decoded",
    "fields",
    "imported",
    "left_out",
    "target_of",
    "within_memory",
]

MAX_UNPACKED = 2 << 30
"""Bytes that may be held in memory of one file, beyond those that it has itself."""
MAX_REQUESTS = 1_000_000
"""Of one file: each takes some two KB of memory, however little the file says of it."""
_STATUSES = range(1, 1_000)
_FARTHEST = 1e11
"""Seconds since the epoch, or before it."""
_PROMPT_FIELDS = {"messages", "input"}


class Intake:
    """Makes the exchanges of one file, whose bodies may be packed.

    Raises:
        InputError: they unpack to more than `MAX_UNPACKED`, as decompression bombs would, or there
            are more than `MAX_REQUESTS`.
    """

    def __init__(self) -> None:
        self._secrets = Secrets()
        self._added = self._taken = 0

    def exchange(self, raw: RawExchange) -> Exchange:
        """Make the exchange of a recorded one, as `imported` does."""
        self._taken += 1
        if self._taken > MAX_REQUESTS:
            raise InputError(
                f"more than {MAX_REQUESTS:,} requests",
                remedy="Give fewer of its requests at a time",
            )
        exchange = imported(raw, self._secrets)
        packed = len(raw.body) + sum(len(data) for _, data in raw.chunks)
        self._added += max(0, len(exchange.request) + len(exchange.response) - packed)
        if self._added > MAX_UNPACKED:
            raise _too_much("Give fewer of its requests at a time")
        return exchange


def within_memory(exchanges: Iterable[Exchange], where: str) -> Iterator[Exchange]:
    """Pass on the exchanges of a session that are all going to be held in memory.

    Raises:
        InputError: their bodies have more than `MAX_UNPACKED` bytes.
    """
    held = 0
    for exchange in exchanges:
        held += len(exchange.request) + len(exchange.response) + len(exchange.outgoing or b"")
        if held > MAX_UNPACKED:
            raise _too_much("Give the file itself, which is not held in memory", where)
        yield exchange


def _too_much(remedy: str, where: str | None = None) -> InputError:
    return InputError(
        f"its bodies unpack to more than {MAX_UNPACKED >> 20} MiB", where=where, remedy=remedy
    )


def called(method: str, path: str) -> Endpoint:
    """Return what a request calls; only a POST carries a prompt."""
    return endpoint_of(path) if method.upper() == "POST" else "other"


def fields(headers: Iterable[tuple[str, str]]) -> tuple[tuple[bytes, bytes], ...]:
    """Return headers as they stand on the wire."""
    return tuple(
        (name.encode("utf-8", "replace"), value.encode("utf-8", "replace"))
        for name, value in headers
    )


def decoded(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out the content-encoding of a body that stands as text: there it has been undone."""
    return [(name, value) for name, value in headers if name.lower() != "content-encoding"]


def target_of(url: str) -> str:
    """Return path and query of a URL as they are written; urlsplit would normalise them."""
    rest = url.partition("://")[2] or url
    slash = rest.find("/")
    return rest[slash:] if slash >= 0 else "/"


def imported(raw: RawExchange, secrets: Secrets) -> Exchange:
    """Make the exchange of a recorded one.

    Its bodies are left out where it is no model call: another service's `/messages`, say, whose
    text is none of our business.

    Args:
        raw: what the other tool recorded.
        secrets: credentials of the file so far; those of this exchange are added.
    """
    if raw.endpoint == "other":
        raw = replace(raw, body=b"", chunks=())
    exchange = assemble(
        replace(
            raw,
            started=_time(raw.started),
            first_byte=_time(raw.first_byte),
            ended=_time(raw.ended),
            status=raw.status if raw.status in _STATUSES else None,
        ),
        secrets,
    )
    if exchange.request and not _asks_a_model(exchange.request):
        return imported(replace(raw, endpoint="other"), secrets)
    # A response that was recorded whole does not tell when its first token came.
    return replace(exchange, info=replace(exchange.info, first_token=None))


def _time(seconds: float | None) -> float | None:
    """A time of another tool; None where it is none that could be stored and told."""
    return seconds if seconds is not None and abs(seconds) < _FARTHEST else None


def left_out(exchanges: list[Exchange]) -> list[str]:
    """Return the note on exchanges that are no model calls, where there are any."""
    others = sum(exchange.info.endpoint == "other" for exchange in exchanges)
    if not others:
        return []
    return [f"{others} of {len(exchanges)} requests are no model calls; their bodies are left out"]


def _asks_a_model(body: bytes) -> bool:
    try:
        names = {name for name, _ in jsontext.members(body, jsontext.whole(body))}
    except InputError:
        return True  # a client's broken body is worth keeping as it is
    return not _PROMPT_FIELDS.isdisjoint(names)
