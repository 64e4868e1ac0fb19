"""The mitmproxy addon that listens to exchanges and hands them to a writer.

It runs on the proxy's event loop, so it only takes references; decoding, parsing and storing
happen on the writer's thread. It never changes a flow, except for asking that responses be passed
through as they arrive.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from mitmproxy import http

from cachediag.capture import clock
from cachediag.capture.exchange import CHUNK_MEMORY, Chunk, Fields, RawExchange
from cachediag.capture.writer import Writer
from cachediag.model import Endpoint
from cachediag.protocol.endpoint import endpoint_of
from cachediag.session import MAX_BODY

__all__ = ["Capture"]

MAX_IN_FLIGHT = 1 << 30
"""Bytes of memory that the answers under way may take together."""

_ENDED = "the recording ended before the response did"
_KEPT: frozenset[Endpoint] = frozenset({"messages", "chat", "responses", "count_tokens"})

Stream = Callable[[bytes], Iterable[bytes] | bytes]


@dataclass(slots=True)
class _Open:
    """What is known of a flow that has begun and not yet ended.

    It does not hold the flow, which by its stream holds it: large bodies would then stay in memory
    until the garbage collector looks for cycles.
    """

    endpoint: Endpoint
    # Taken when they pass, as addons after this one may change them.
    path: str
    headers: Fields
    # Not mitmproxy's own times, which go wrong when the system's clock is set.
    started: float
    first_byte: float | None = None
    response_headers: Fields = ()
    body: bytes = b""
    chunks: list[Chunk] = field(default_factory=list)
    size: int = 0
    """Bytes of the response that have passed."""
    kept: int = 0
    """Those of them that are in `chunks`: the first ones."""
    memory: int = 0
    """What `chunks` takes."""


class Capture:
    """Records every exchange that passes, and what other addons made of its request.

    It stands before addons that change requests, so as to see what the client sent.

    Args:
        writer: takes the exchanges; started and closed with the proxy.
        others: keep a record, without bodies, of requests that are no model calls.
        guest: run in a mitmproxy that serves other purposes too. Responses to other requests are
            then not made to pass live, and a body that has is put into its flow at the end, where
            other addons and `-w` look for it.
    """

    def __init__(self, writer: Writer, *, others: bool = True, guest: bool = False) -> None:
        self._writer = writer
        self._others = others
        self._guest = guest
        self._open: dict[str, _Open] = {}
        self._ended: list[RawExchange] = []
        self._flows: dict[str, http.HTTPFlow] = {}
        self._memory = 0
        self.ending = False
        """Set when the recording is about to end, which is then what ends an exchange."""

    @property
    def in_flight(self) -> int:
        """Exchanges that have begun and not ended."""
        return len(self._open)

    def running(self) -> None:
        """Begin to store."""
        self._writer.start()

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Begin a record."""
        endpoint = endpoint_of(flow.request.path)
        # Only a POST carries a prompt: GET /v1/responses/ID, say, fetches an old answer.
        if flow.request.method != "POST":
            endpoint = "other"
        if self._others or endpoint in _KEPT:
            path = flow.request.data.path.decode(errors="replace")
            headers = flow.request.headers.fields
            self._open[flow.id] = _Open(endpoint, path, headers, clock.now())
            self._flows[flow.id] = flow

    def request(self, flow: http.HTTPFlow) -> None:
        """Take the body as the client sent it, before an addon after this one changes it."""
        record = self._open.get(flow.id)
        if record is not None and record.endpoint in _KEPT:
            record.body = (flow.request.raw_content or b"")[:MAX_BODY]

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Have the response passed through live, and keep what passes."""
        response = flow.response
        if response is None:
            return
        record = self._open.get(flow.id)
        if record is not None:
            record.first_byte = clock.now()
            record.response_headers = response.headers.fields
        if record is not None and record.endpoint in _KEPT:
            response.stream = self._tee(record, response.stream)
        elif not self._guest:
            response.stream = response.stream or True

    def response(self, flow: http.HTTPFlow) -> None:
        """End a record."""
        self._finish(flow, None)

    def error(self, flow: http.HTTPFlow) -> None:
        """End a record whose exchange did not complete."""
        error = flow.error.msg if flow.error else "unknown error"
        self._finish(flow, _ENDED if self.ending else error)

    def done(self) -> None:
        """End what is still open, and have the writer store all that waits."""
        for flow in list(self._flows.values()):
            self._finish(flow, _ENDED)
        self._hand_over()
        self._writer.close()

    def _finish(self, flow: http.HTTPFlow, error: str | None) -> None:
        record = self._open.pop(flow.id, None)
        self._flows.pop(flow.id, None)
        if record is None:
            return
        self._memory -= record.memory
        self._ended.append(_raw(flow, record, error))
        # The end of the response is sent when this hook is done. The writer's thread would be
        # awake by then, and hold the interpreter while the client waits.
        with suppress(RuntimeError):
            asyncio.get_running_loop().call_soon(self._hand_over)
        whole = record.chunks and record.kept == record.size
        if self._guest and whole and flow.response and flow.response.raw_content is None:
            flow.response.raw_content = b"".join(data for _, data in record.chunks)

    def _hand_over(self) -> None:
        ended, self._ended = self._ended, []
        for raw in ended:
            self._writer.put(raw)

    def _tee(self, record: _Open, earlier: Stream | bool) -> Stream:
        """Keep each chunk and pass it on, through another addon's callable where there is one."""
        passed_on: Stream = earlier if callable(earlier) else _unchanged

        def stream(data: bytes) -> Iterable[bytes] | bytes:
            self._keep(record, data)
            return passed_on(data)

        return stream

    def _keep(self, record: _Open, data: bytes) -> None:
        whole = record.kept == record.size
        record.size += len(data)
        room = min(MAX_BODY - record.kept, MAX_IN_FLIGHT - self._memory - CHUNK_MEMORY)
        # Behind a gap nothing is kept, also where there is room again.
        if not whole or not data or room <= 0:
            return
        kept = data[:room]
        record.chunks.append((clock.now(), kept))
        record.kept += len(kept)
        record.memory += len(kept) + CHUNK_MEMORY
        self._memory += len(kept) + CHUNK_MEMORY


def _unchanged(data: bytes) -> bytes:
    return data


def _raw(flow: http.HTTPFlow, record: _Open, error: str | None) -> RawExchange:
    request, response = flow.request, flow.response
    notes = []
    chunks = record.chunks
    outgoing = None
    if record.endpoint in _KEPT:
        sent_on = (request.raw_content or b"")[:MAX_BODY]
        if request.raw_content is not None and sent_on != record.body:
            outgoing = sent_on
        if response is not None and not chunks and response.raw_content:
            # An addon answered in the upstream's place: nothing was streamed.
            chunks = [(clock.now(), response.raw_content)]
        if len(request.raw_content or b"") > MAX_BODY:
            notes.append(f"request: only the first {MAX_BODY} bytes were kept")
        if record.size > record.kept:
            crowded = "" if record.kept == MAX_BODY else ", others under way took the memory"
            notes.append(f"response: only the first {record.kept} bytes were kept{crowded}")
        if request.raw_content is None and request.stream:
            notes.append("request: streamed past the recorder (option stream_large_bodies)")
    return RawExchange(
        endpoint=record.endpoint,
        method=request.method,
        path=record.path,
        headers=record.headers,
        body=record.body,
        outgoing=outgoing,
        outgoing_headers=request.headers.fields,
        started=record.started,
        status=response.status_code if response else None,
        response_headers=record.response_headers,
        chunks=tuple(chunks),
        first_byte=record.first_byte,
        ended=clock.now(),
        notes=tuple(notes),
        error=error,
    )
