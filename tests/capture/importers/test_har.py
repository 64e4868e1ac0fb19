import base64
import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from cachediag.capture.importers import open_source, wire
from cachediag.errors import InputError
from cachediag.model import Usage
from cachediag.session import Source

BODY = '{"model":"asked","max_tokens":5,"messages":[{"role":"user","content":"é\\n"}]}'
ANSWER = '{"model":"got","usage":{"input_tokens":3}}'
KEY = "sk-ant-secret-of-the-user-0123456789"


def entry(**changes: object) -> dict[str, object]:
    request = {
        "method": "POST",
        "url": "https://host.example/v1/messages?beta=true",
        "headers": [
            {"name": "User-Agent", "value": "cli/1"},
            {"name": "Authorization", "value": f"Bearer {KEY}"},
        ],
        "bodySize": len(BODY.encode()),
        "postData": {"mimeType": "application/json", "text": BODY},
    }
    response = {
        "status": 200,
        "headers": [
            {"name": "Content-Type", "value": "application/json"},
            {"name": "Content-Encoding", "value": "gzip"},
        ],
        "content": {"size": len(ANSWER), "mimeType": "application/json", "text": ANSWER},
    }
    whole = {
        "startedDateTime": "2026-11-29T12:00:00.500Z",
        "time": 3000,
        "request": request,
        "response": response,
        "timings": {"blocked": -1, "dns": 10, "connect": 40, "ssl": 30, "send": 50, "wait": 900},
    }
    for name, value in changes.items():
        part, _, field = name.partition("__")
        if field:
            whole[part] = whole[part] | {field: value}  # type: ignore[operator]
        else:
            whole[part] = value
    return whole


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.har"


def read(path: Path, *entries: dict[str, object], bom: bytes = b"") -> Source:
    log = {"log": {"version": "1.2", "creator": {"name": "x"}, "entries": list(entries)}}
    path.write_bytes(bom + json.dumps(log, indent=1).encode())
    return open_source(path)


def test_an_entry_is_read_as_it_was_recorded(path: Path) -> None:
    (got,) = read(path, entry(), bom=b"\xef\xbb\xbf").exchanges()
    assert (got.request, got.response) == (BODY.encode(), ANSWER.encode())
    info = got.info
    assert (info.endpoint, info.method, info.path) == (
        "messages",
        "POST",
        "/v1/messages?beta=true",
    )
    start = 1795953600.5
    assert (info.started, info.first_byte, info.ended) == (start, start + 1, start + 3)
    assert info.first_token is None
    assert (info.status, info.model, info.response_model) == (200, "asked", "got")
    assert info.usage == Usage(input_tokens=3)
    assert info.headers == {"user-agent": "cli/1"}
    assert info.response_headers == {"content-type": "application/json"}
    assert (info.notes, info.error) == ((), None)
    assert KEY not in repr(got)


def test_bodies_in_base64_are_read(path: Path) -> None:
    raw = base64.b64encode(BODY.encode()).decode()
    answer = base64.b64encode(ANSWER.encode()).decode()
    made = entry(
        request__postData={"text": raw, "encoding": "base64"},
        response__content={"text": answer, "encoding": "base64"},
    )
    (got,) = read(path, made).exchanges()
    assert (got.request, got.response) == (BODY.encode(), ANSWER.encode())


def test_a_request_that_is_still_encoded_is_decoded(path: Path) -> None:
    made = entry(
        request__postData={
            "text": base64.b64encode(gzip.compress(BODY.encode())).decode(),
            "encoding": "base64",
        },
        request__headers=[{"name": "content-encoding", "value": "gzip"}],
    )
    (got,) = read(path, made).exchanges()
    assert got.request == BODY.encode()
    assert got.info.notes == ("request: content-encoding gzip undone",)


def test_a_request_that_was_decoded_already_is_left_so(path: Path) -> None:
    made = entry(request__headers=[{"name": "content-encoding", "value": "gzip"}])
    (got,) = read(path, made).exchanges()
    assert got.request == BODY.encode()
    assert got.info.notes == ()


def test_what_the_har_does_not_give_is_noted(path: Path) -> None:
    source = read(
        path,
        entry(request__postData={"mimeType": "application/json"}),
        entry(request__bodySize=9),
        entry(response__content={"size": 0, "mimeType": "text/event-stream"}),
    )
    assert [info.notes for info in source.infos()] == [
        ("request: the body is not in the HAR",),
        (f"request: 9 bytes were sent, the HAR gives {len(BODY.encode())}",),
        ("response: the body is not in the HAR",),
    ]


def test_a_request_without_response_has_an_error(path: Path) -> None:
    (info,) = read(path, entry(response__status=0, response__content={}, time=-1)).infos()
    assert (info.status, info.error, info.ended, info.first_byte) == (
        None,
        "no response",
        None,
        None,
    )


def test_what_a_browser_fetched_comes_without_bodies(path: Path) -> None:
    page = entry(request__method="GET", request__url="https://host.example")
    source = read(path, page, entry())
    assert [info.endpoint for info in source.infos()] == ["other", "messages"]
    assert [info.path for info in source.infos()] == ["/", "/v1/messages?beta=true"]
    assert [bool(e.request + e.response) for e in source.exchanges()] == [False, True]
    assert list(source.notes) == ["1 of 2 requests are no model calls; their bodies are left out"]


@pytest.mark.parametrize("missing", ["startedDateTime", "time", "timings"])
def test_times_may_be_missing(path: Path, missing: str) -> None:
    made = entry()
    del made[missing]
    (got,) = read(path, made).exchanges()
    assert got.request == BODY.encode()
    info = got.info
    assert (info.started, info.first_byte, info.ended).count(None) == {"startedDateTime": 3}.get(
        missing, 1
    )


def test_a_body_that_is_not_base64_is_refused_with_its_entry(path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(path, entry(), entry(request__postData={"text": "*", "encoding": "base64"}))
    assert str(caught.value) == f"{path}: entry 1: a body is not base64"


def test_entries_are_read_one_at_a_time(path: Path) -> None:
    path.write_bytes(b'{"log":{"entries":[%b]}}' % b",".join([b"1"] * 100_000))
    tracemalloc.start()
    with pytest.raises(InputError, match="entry 0: not an entry as HAR"):
        open_source(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10 * path.stat().st_size


def test_a_har_of_endlessly_many_requests_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MAX_REQUESTS", 2)
    assert len(list(read(path, entry(), entry()).infos())) == 2
    with pytest.raises(InputError) as caught:
        read(path, entry(), entry(), entry())
    assert str(caught.value) == f"{path}: entry 2: more than 2 requests"


@pytest.mark.parametrize(
    ("odd", "what"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "JSON is nested too deeply"),
        (b"9" * 5_000, "not JSON that can be read: Exceeds the limit"),
        (b'"\x01"', "not JSON: Invalid control character"),
        (b'"\xff"', "not UTF-8 text"),
    ],
)
def test_an_entry_that_cannot_be_read_is_refused(path: Path, odd: bytes, what: str) -> None:
    path.write_bytes(b'{"log":{"entries":[ {"request":%b} ]}}' % odd)
    with pytest.raises(InputError) as caught:
        open_source(path)
    assert what in str(caught.value)
    assert caught.value.where == str(path)
