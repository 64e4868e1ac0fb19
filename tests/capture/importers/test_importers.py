"""What holds for all importers: telling kinds of files apart, refusing the rest, pipes."""

import gzip
import io
import json
import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from cachediag.capture import importers
from cachediag.capture.importers import open_bodies, open_source, wire
from cachediag.errors import InputError, SessionError, UsageError
from cachediag.model import Exchange, ExchangeInfo
from cachediag.session import Session, Source

BODY = b'{"model": "m",\n "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}'
LINE = BODY.replace(b"\n", b"")
NOTHING = "not a request body, session, flow file or HAR"


def har(body: bytes = BODY) -> bytes:
    request = {"method": "POST", "url": "http://h/v1/messages", "headers": []}
    entry = {"request": request | {"postData": {"text": body.decode()}}, "response": {}}
    return json.dumps({"log": {"version": "1.2", "entries": [entry]}}).encode()


def flows(body: bytes = BODY) -> bytes:
    from mitmproxy import http
    from mitmproxy.io import FlowWriter
    from mitmproxy.test import tflow

    flow = tflow.tflow()
    flow.request = http.Request.make("POST", "http://h/v1/messages", body)
    file = io.BytesIO()
    FlowWriter(file).add(flow)
    return file.getvalue()


def session(path: Path) -> None:
    with Session.create(path) as opened:
        opened.append(Exchange(ExchangeInfo(endpoint="messages", path="/v1/messages"), BODY))


KINDS: dict[str, Callable[[Path], object]] = {
    "body": lambda path: path.write_bytes(BODY),
    "bom": lambda path: path.write_bytes(b"\xef\xbb\xbf \n" + BODY),
    "jsonl": lambda path: path.write_bytes(b"\n" + LINE + b"\n\n" + LINE + b"\n"),
    "record": lambda path: path.write_bytes(b'{"body": ' + BODY + b"}"),
    "har": lambda path: path.write_bytes(har()),
    "flows": lambda path: path.write_bytes(flows()),
    "session": session,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["x", "x.json", "x.har", "x.mitm", "x.cachediag", "x.jsonl"])
def test_content_tells_the_kind_whatever_the_name(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / name
    KINDS[kind](path)
    source = open_source(path)
    bodies = [e.request for e in source.exchanges()]
    if kind == "jsonl":
        assert bodies == [LINE, LINE]
    elif kind == "bom":
        # Not a byte of the body's own value is lost.
        assert [body.strip() for body in bodies] == [BODY]
    else:
        assert bodies == [BODY]
    assert [info.endpoint for info in source.infos()] == ["messages"] * len(bodies)
    assert source.name == (name.removesuffix(".cachediag") if kind == "session" else "x")
    if isinstance(source, Session):
        source.close()


REFUSED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "white": (b" \n\n", "the file holds white space only"),
    "text": (b"notes\n", f"{NOTHING} (line 1: plain text)"),
    "text below": (b"\n \n12:30 lunch\n", f"{NOTHING} (line 3: plain text)"),
    "binary": (bytes(range(256)), f"{NOTHING} (a binary file)"),
    "latin": (b"caf\xe9 notes", f"{NOTHING} (a binary file)"),
    "gzip": (gzip.compress(BODY), f"{NOTHING} (a gzip archive)"),
    "zip": (b"PK\x03\x04....", f"{NOTHING} (a zip archive)"),
    "utf-16": ("{}".encode("utf-16"), f"{NOTHING} (UTF-16 text)"),
    "array": (b"[" + BODY + b"]", f"{NOTHING} (line 1: a JSON array)"),
    "truncated": (BODY[:40], "JSON ends too early (line 2, column 26)"),
    "malformed": (
        b'{"model": "m",\n "messages": [,]}',
        "not JSON: Expecting value (line 2, column 15)",
    ),
    "another object": (b'{"a": 1}', "a JSON object, but not a request body: it has no messages"),
    "response": (
        b'{"type": "message", "role": "assistant", "content": []}',
        "a JSON object, but not a request body: it has no messages",
    ),
    "deep": (b'{"messages":' + b"[" * 100_000, "JSON is nested too deeply"),
    "jsonl cut": (
        LINE + b"\n" + LINE + b"\n" + LINE[:50],
        "JSON ends too early (line 3, column 51)",
    ),
    "jsonl of others": (
        b'{"a":1}\n{"b":2}\n',
        "JSONL, but none of its 2 lines holds a request body",
    ),
    "har cut": (har()[:-20], "JSON ends too early"),
    "har without entries": (b'{"log": {"version": "1.2"}}', 'a HAR without a list of "entries"'),
    "har empty": (b'{"log": {"entries": []}}', "the HAR holds no requests"),
    "har odd": (b'{"log": {"entries": [3]}}', "entry 0: not an entry as HAR 1.2 describes it"),
    "har odder": (
        b'{"log": {"entries": [{"request": {"url": 3, "method": 4}}]}}',
        "entry 0: not an entry as HAR 1.2 describes it",
    ),
    "flow cut": (flows()[:-100], "the file ends inside flow 0"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_named_placed_and_remedied(tmp_path: Path, kind: str) -> None:
    content, message = REFUSED[kind]
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_source(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert caught.value.exit_code == 2
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read .No such file or directory."):
        open_source(tmp_path / "nothing.json")


def test_a_session_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.json"
    session(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(SessionError, match="session of format 7"):
        open_source(path)


def test_recognising_looks_at_a_bounded_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cachediag.capture.importers.jsonl._MAX_LINE", 1000)
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.write(b"just text\n")
        file.truncate(1 << 40)
    with pytest.raises(InputError, match="a binary file"):
        open_source(path)
    with path.open("r+b") as file:
        file.write(b'{"a": ')
    with pytest.raises(InputError, match="too large to be one JSON document"):
        open_source(path)


@pytest.mark.parametrize("kind", KINDS)
def test_standard_input_is_read_like_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    KINDS[kind](tmp_path / "x")
    content = (tmp_path / "x").read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    source = open_source("-")
    assert source.name == "stdin"
    assert [e.request.strip() for e in source.exchanges()] in ([BODY], [LINE, LINE])


def test_standard_input_that_is_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    with pytest.raises(InputError, match="standard input: the file is empty"):
        open_source("-")


def test_a_piped_session_whose_bodies_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MAX_UNPACKED", 3 << 20)
    info = ExchangeInfo(endpoint="messages", path="/v1/messages")
    with Session.create(tmp_path / "a.cachediag") as session:
        for number in range(4):
            session.append(Exchange(info, bytes([number]) * (1 << 20)))
    content = (tmp_path / "a.cachediag").read_bytes()
    assert len(content) < 1 << 17
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    with pytest.raises(InputError) as caught:
        open_source("-")
    assert str(caught.value) == "standard input: its bodies unpack to more than 3 MiB"
    assert caught.value.remedy == "Give the file itself, which is not held in memory"


MEANWHILE: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path: os.truncate(path, 0),
    "grown": lambda path: path.write_bytes(2 * path.read_bytes()),
    "gone": Path.unlink,
    "overwritten": lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
}
CUT, EMPTY = "JSON ends too early (line 1, column {})", "JSON ends too early (line 1, column 1)"
MORE, NO_TEXT = "not JSON: Extra data (line 1, column {})", "not UTF-8 text (byte 0)"
NO_LINES = "JSONL, but none of its 0 lines holds a request body"
NO_FLOWS, NO_FLOW = "the flow file holds no HTTP requests", "flow 0 is damaged (byte 0)"
HELD = {
    "body": (LINE, (CUT.format(41), EMPTY, MORE.format(81), 1, NO_TEXT)),
    "har": (har(LINE), (CUT.format(128), EMPTY, MORE.format(258), 1, NO_TEXT)),
    "jsonl": (2 * (LINE + b"\n"), (1, NO_LINES, 4, 2, NO_TEXT)),
    "flows": (2 * flows(LINE), (1, NO_FLOWS, 4, 2, NO_FLOW)),
}


@pytest.mark.parametrize("how", MEANWHILE)
@pytest.mark.parametrize("kind", HELD)
def test_a_file_that_changes_while_it_is_read(
    kind: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, outcomes = HELD[kind]
    outcome = dict(zip(MEANWHILE, outcomes, strict=True))[how]
    path = tmp_path / kind
    path.write_bytes(content)

    @dataclass(frozen=True)
    class Changing:
        importer: importers.Importer

        def recognises(self, source: importers.Input) -> bool:
            return self.importer.recognises(source)

        def read(self, source: importers.Input) -> Source:
            MEANWHILE[how](path)
            return self.importer.read(source)

    monkeypatch.setattr(importers, "IMPORTERS", tuple(map(Changing, importers.IMPORTERS)))
    if isinstance(outcome, int):
        assert len(list(open_source(path).infos())) == outcome
    else:
        with pytest.raises(InputError) as caught:
            open_source(path)
        assert str(caught.value) == f"{path}: {outcome}"


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(BODY,))
    writer.start()
    source = open_source(pipe)
    writer.join()
    assert [e.request for e in source.exchanges()] == [BODY]


def test_two_bodies_make_one_collection(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.har"
    a.write_bytes(BODY)
    b.write_bytes(har(LINE))
    source = open_bodies([a, b])
    assert [e.request for e in source.exchanges()] == [BODY, LINE]
    assert [info.index for info in source.infos()] == [0, 1]
    assert source.name == "a → b"


def test_a_file_of_many_is_no_body(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.jsonl"
    a.write_bytes(BODY)
    b.write_bytes(LINE + b"\n" + LINE)
    with pytest.raises(UsageError) as caught:
        open_bodies([a, b])
    assert str(caught.value) == f"{b}: holds 2 requests, where one body is wanted"


def test_importing_the_importers_does_not_import_mitmproxy() -> None:
    import subprocess

    code = "import sys, cachediag.capture.importers; print('mitmproxy' in sys.modules)"
    root = Path(importers.__file__).parents[3]
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert out.stdout == "False\n"
