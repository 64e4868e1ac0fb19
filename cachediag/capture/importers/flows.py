"""mitmproxy flow files (`mitmdump -w FILE`, or saved in mitmproxy or mitmweb)."""

import io
import itertools
import re
from typing import TYPE_CHECKING, BinaryIO, cast

from cachediag.capture.exchange import RawExchange
from cachediag.capture.importers.reading import Input, placed
from cachediag.capture.importers.wire import Intake, called, left_out
from cachediag.errors import InputError
from cachediag.session import Source
from cachediag.session.source import numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mitmproxy import flow, http

    from cachediag.model import Exchange

__all__ = ["Flows"]

# A flow is a tnetstring dictionary: its length, then its first key.
_FLOW = re.compile(rb"\d{1,12}:\d{1,3}:[a-z_]+[;,]")
_VERSION = re.compile(r"flow format version (\d+|\(\d+(?:, \d+)*\))")


class Flows:
    """Reads flow files of every format that the installed mitmproxy can read."""

    def recognises(self, source: Input) -> bool:
        """Tell by the first flow's length and first key."""
        return _FLOW.match(source.head()) is not None

    def read(self, source: Input) -> Source:
        """Read all HTTP flows; requests that are no model calls come without bodies.

        A file cut off inside its last flow, as a killed mitmproxy leaves it, is read up to
        there, and the notes say so.

        Raises:
            InputError: a flow is damaged or of another format, or there is no HTTP flow.
        """
        from mitmproxy import http  # takes a quarter of a second

        notes: list[str] = []
        intake = Intake()
        exchanges: list[Exchange] = []
        strange = 0
        for recorded in _flows(source, notes):
            if isinstance(recorded, http.HTTPFlow):
                with placed(source.where, f"flow {len(exchanges) + strange}"):
                    exchanges.append(intake.exchange(_raw(recorded)))
            else:
                strange += 1
        if strange:
            notes.append(f"{strange} flows are not HTTP and are left out")
        if not exchanges:
            raise InputError(
                "the flow file holds no HTTP requests",
                where=source.where,
                remedy="Record one: cachediag record -- claude",
            )
        return numbered(source.name, exchanges, [*notes, *left_out(exchanges)])


class _Bounded:
    """A file that never reads past its end, and knows that it was asked to.

    A damaged length would otherwise have as many bytes allocated as it claims.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._end = file.seek(0, io.SEEK_END)
        self.exhausted = False
        file.seek(0)

    def read(self, size: int) -> bytes:
        left = self._end - self._file.tell()
        self.exhausted = size > left
        return self._file.read(min(size, left))

    def peek(self, size: int) -> bytes:
        place = self._file.tell()
        data = self._file.read(size)
        self._file.seek(place)
        return data

    def tell(self) -> int:
        return self._file.tell()


def _flows(source: Input, notes: list[str]) -> "Iterator[flow.Flow]":
    # Importing mitmproxy takes half a second.
    from mitmproxy.io import FlowReader

    file = _Bounded(source.file)
    flows = iter(FlowReader(cast("BinaryIO", file)).stream())
    for number in itertools.count():
        place = file.tell()
        try:
            yield next(flows)
        except StopIteration:
            return
        # The library promises nothing of what it raises on a damaged file.
        except Exception as error:
            version = _VERSION.search(str(error))
            if version:
                raise _other_version(source.where, number, version[1]) from error
            if not file.exhausted or not number:
                raise _damaged(source.where, number, place, cut=file.exhausted) from error
            notes.append(
                f"the file ends inside flow {number} (byte {place}); those before it are read"
            )
            return


def _other_version(where: str, number: int, version: str) -> InputError:
    from mitmproxy.version import FLOW_FORMAT_VERSION, VERSION

    newer = version.isdigit() and int(version) > FLOW_FORMAT_VERSION
    export = "export it with the mitmproxy that wrote it: mitmdump -nr FILE --set hardump=FILE.har"
    return InputError(
        f"flow {number} is of flow format {version}; mitmproxy {VERSION} here reads"
        f" {'up to ' if newer else 'no such format, its own is '}{FLOW_FORMAT_VERSION}",
        where=where,
        remedy=f"Upgrade it (pip install --upgrade mitmproxy), or {export}"
        if newer
        else export.capitalize(),
    )


def _damaged(where: str, number: int, place: int, *, cut: bool) -> InputError:
    if cut:
        what, remedy = f"the file ends inside flow {number}", "Save the flows again"
    else:
        what = f"flow {number} is damaged (byte {place})"
        remedy = "Save the flows again"
        if place:
            remedy += f", or keep those before it: head -c {place} FILE"
    return InputError(what, where=where, remedy=remedy)


def _raw(recorded: "http.HTTPFlow") -> RawExchange:
    request, response = recorded.request, recorded.response
    path = request.data.path.decode(errors="replace")
    endpoint = called(request.method, path)
    notes = []
    if endpoint != "other" and request.raw_content is None:
        notes.append("request: the body is not in the flow file")
    if endpoint != "other" and response is not None and response.raw_content is None:
        notes.append("response: the body is not in the flow file")
    body = (response and response.raw_content) or b""
    ended = response.timestamp_end if response else None
    return RawExchange(
        endpoint=endpoint,
        method=request.method,
        path=path,
        headers=request.headers.fields,
        body=request.raw_content or b"",
        started=request.timestamp_start,
        status=response.status_code if response else None,
        response_headers=response.headers.fields if response else (),
        chunks=((ended or 0.0, body),) if body else (),
        first_byte=response.timestamp_start if response else None,
        ended=ended,
        notes=tuple(notes),
        error=recorded.error.msg if recorded.error else None,
    )
