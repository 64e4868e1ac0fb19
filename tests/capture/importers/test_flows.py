import gzip
import io
import json
from pathlib import Path

import pytest
from mitmproxy import flow as mitm_flow
from mitmproxy import http
from mitmproxy.io import FlowWriter, tnetstring
from mitmproxy.test import tflow, tutils
from mitmproxy.version import FLOW_FORMAT_VERSION

from cachediag.capture.importers import open_source
from cachediag.errors import InputError
from cachediag.model import Usage
from cachediag.session import Source

TARGET = "http://h/v1/messages?beta=true"
BODY = b'{"model":"asked","max_tokens":5,"messages":[{"role":"user","content":"\xc3\xa9"}]}'
KEY = "sk-ant-secret-of-the-user-0123456789"
SSE = (
    b'event: message_start\ndata: {"type":"message_start","message":{"model":"got","usage":'
    b'{"input_tokens":9,"cache_read_input_tokens":4}}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"x"}}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":2}}\n\n'
)


def flow(
    method: str = "POST",
    url: str = TARGET,
    body: bytes | None = BODY,
    response: http.Response | None = None,
    **headers: str,
) -> http.HTTPFlow:
    made = tflow.tflow()
    named: dict[str | bytes, str | bytes] = dict(headers.items())
    made.request = http.Request.make(method, url, b"", named)
    made.request.raw_content = body
    made.request.timestamp_start = 10.0
    made.request.timestamp_end = 10.5
    made.response = response
    if response is not None:
        response.timestamp_start, response.timestamp_end = 11.0, 13.0
    return made


def written(path: Path, *flows: mitm_flow.Flow) -> Path:
    with path.open("wb") as file:
        writer = FlowWriter(file)
        for each in flows:
            writer.add(each)
    return path


def read(path: Path, *flows: mitm_flow.Flow) -> Source:
    return open_source(written(path, *flows))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.mitm"


def test_an_exchange_is_read_as_it_was_recorded(path: Path) -> None:
    response = http.Response.make(200, SSE, {"content-type": "text/event-stream", "x-o": "1"})
    sent = {"User-Agent": "cli/1", "x-api-key": KEY, "content-type": "a/json"}
    made = flow("POST", TARGET, BODY, response, **sent)
    (got,) = read(path, made).exchanges()
    assert (got.request, got.response) == (BODY, SSE)
    info = got.info
    assert (info.index, info.endpoint, info.method) == (0, "messages", "POST")
    assert info.path == "/v1/messages?beta=true"
    assert (info.started, info.first_byte, info.first_token, info.ended) == (10.0, 11.0, None, 13.0)
    assert (info.status, info.model, info.response_model) == (200, "asked", "got")
    assert info.usage == Usage(9, 4, None, 2)
    assert info.headers == {"user-agent": "cli/1", "content-type": "a/json"}
    assert info.response_headers == {"content-type": "text/event-stream"}
    assert (info.notes, info.error) == ((), None)
    assert (info.request_size, info.response_size) == (len(BODY), len(SSE))


def test_a_content_encoding_is_undone_and_noted(path: Path) -> None:
    answer = b'{"model":"got","usage":{"input_tokens":1}}'
    response = http.Response.make(200, b"", {"content-type": "application/json"})
    response.headers["content-encoding"] = "gzip"
    response.raw_content = gzip.compress(answer)
    made = flow(body=gzip.compress(BODY), response=response, **{"content-encoding": "gzip"})
    (got,) = read(path, made).exchanges()
    assert (got.request, got.response) == (BODY, answer)
    assert got.info.notes == (
        "request: content-encoding gzip undone",
        "response: content-encoding gzip undone",
    )
    assert got.info.response_model == "got"


def test_no_credential_gets_through(path: Path) -> None:
    made = flow(
        url=f"http://h/v1/messages?key={KEY}",
        response=http.Response.make(401, f"bad key {KEY}".encode(), {"x-echo": KEY}),
        authorization=f"Bearer {KEY}",
    )
    made.error = mitm_flow.Error(f"refused {KEY}")
    source = read(path, made)
    assert KEY not in repr(source)
    (info,) = source.infos()
    assert info.path == "/v1/messages?key=redacted"
    assert info.error == "refused redacted"


def test_what_is_no_model_call_comes_without_bodies(path: Path) -> None:
    page = http.Response.make(200, b"private page")
    source = read(
        path,
        flow("GET", "http://h/inbox?id=7", b"", page.copy()),
        flow("POST", "http://h/chat/9/messages", b'{"text":"private"}', page.copy()),
        flow("GET", "http://h/v1/messages", b"", page.copy()),
        flow(url="http://h/v1/messages/count_tokens"),
        flow(url="http://h/v1/chat/completions"),
        flow(body=b'{"model": broken'),
        tflow.ttcpflow(),
        tflow.tdnsflow(),
    )
    infos = list(source.infos())
    assert [info.endpoint for info in infos] == [
        "other",
        "other",
        "other",
        "count_tokens",
        "chat",
        "messages",
    ]
    assert [(e.request, e.response) for e in source.exchanges()] == [
        (b"", b""),
        (b"", b""),
        (b"", b""),
        (BODY, b""),
        (BODY, b""),
        (b'{"model": broken', b""),
    ]
    assert list(source.notes) == [
        "2 flows are not HTTP and are left out",
        "3 of 6 requests are no model calls; their bodies are left out",
    ]


def test_a_body_that_was_not_saved_is_noted(path: Path) -> None:
    response = http.Response.make(200)
    response.raw_content = None
    (got,) = read(path, flow(body=None, response=response)).exchanges()
    assert got.request == b""
    assert got.info.notes == (
        "request: the body is not in the flow file",
        "response: the body is not in the flow file",
    )


def test_a_file_cut_in_its_last_flow_is_read_up_to_there(path: Path) -> None:
    whole = written(path, flow(), flow()).read_bytes()
    place = len(whole) // 2
    for cut in (place + 1, place + 3, place + 50, len(whole) - 1):
        path.write_bytes(whole[:cut])
        source = open_source(path)
        assert [e.request for e in source.exchanges()] == [BODY]
        assert list(source.notes) == [
            f"the file ends inside flow 1 (byte {place}); those before it are read"
        ]


def test_damage_in_the_middle_is_refused_with_its_place(path: Path) -> None:
    whole = written(path, flow(), flow(), flow()).read_bytes()
    place = len(whole) // 3
    path.write_bytes(whole[:place] + b"garbage" + whole[place:])
    with pytest.raises(InputError) as caught:
        open_source(path)
    assert str(caught.value) == f"{path}: flow 1 is damaged (byte {place})"
    assert f"head -c {place} FILE" in (caught.value.remedy or "")


def test_a_length_that_lies_allocates_nothing(path: Path) -> None:
    path.write_bytes(b"999999999999:7:version;2:21#")
    with pytest.raises(InputError, match="the file ends inside flow 0"):
        open_source(path)


@pytest.mark.parametrize(
    ("version", "message", "remedy"),
    [
        (99, "flow 1 is of flow format 99; mitmproxy .* here reads up to", "Upgrade it"),
        (2, "flow 1 is of flow format 2; mitmproxy .* here reads no such", "Export it"),
        ([0, 3], r"flow 1 is of flow format \(0, 3\); mitmproxy", "Export it"),
    ],
)
def test_another_version_of_the_format_is_refused(
    path: Path, version: object, message: str, remedy: str
) -> None:
    state = flow().get_state()
    assert state["version"] == FLOW_FORMAT_VERSION
    with path.open("wb") as file:
        tnetstring.dump(state, file)
        tnetstring.dump(state | {"version": version}, file)
    with pytest.raises(InputError, match=message) as caught:
        open_source(path)
    assert remedy in (caught.value.remedy or "")
    assert "hardump" in (caught.value.remedy or "")


def test_a_flow_of_an_odd_shape_is_refused(path: Path) -> None:
    path.write_bytes(tnetstring.dumps({"version": FLOW_FORMAT_VERSION, "type": "http"}))
    with pytest.raises(InputError, match="flow 0 is damaged"):
        open_source(path)


def test_a_file_without_http_flows_is_refused(path: Path) -> None:
    written(path, tflow.ttcpflow())
    with pytest.raises(InputError, match="the flow file holds no HTTP requests"):
        open_source(path)


def test_an_older_format_is_migrated(path: Path) -> None:
    state = flow().get_state()
    buffer = io.BytesIO()
    tnetstring.dump(state | {"version": FLOW_FORMAT_VERSION - 1}, buffer)
    path.write_bytes(buffer.getvalue())
    assert [e.request for e in open_source(path).exchanges()] == [BODY]


def test_the_test_flows_of_mitmproxy_itself_are_read(path: Path) -> None:
    made = tflow.tflow(req=tutils.treq(), resp=tutils.tresp(), err=True)
    (info,) = read(path, made).infos()
    assert (info.endpoint, info.method, info.path, info.status) == ("other", "GET", "/path", 200)
    assert info.error == "error"
    assert json.dumps(dict(info.headers)) == "{}"
