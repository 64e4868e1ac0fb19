"""`addons/capture.py` in a mitmdump of the user's own."""

from http.client import HTTPConnection
from typing import Any

from mitmproxy.io import FlowReader

from cachediag.session import Session, newest


def post(port: int, path: str, body: bytes) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", path, body, {"x-api-key": "sk-ant-a-secret-key"})
    content = connection.getresponse().read()
    connection.close()
    return content


def test_it_records_into_the_given_file_and_leaves_the_flows_whole(serve, mitmdump, tmp_path):
    server = serve(lambda request, reply: reply.body(b"answer to " + request.body))
    path, flows = tmp_path / "mine.cachediag", tmp_path / "flows.mitm"
    options = ("--mode", f"reverse:{server.url}", "--set", f"cachediag_file={path}")
    running = mitmdump("capture.py", *options, "-w", str(flows))
    assert post(running.port, "/v1/messages", b"one") == b"answer to one"
    assert post(running.port, "/elsewhere", b"two") == b"answer to two"
    assert f"recording to {path}" in running.ended()
    with Session.open(path) as session:
        (exchange,) = session.exchanges()
    assert exchange.info.endpoint == "messages"
    assert (exchange.request, exchange.response) == (b"one", b"answer to one")
    assert path.stat().st_mode & 0o777 == 0o600
    with flows.open("rb") as file:
        read: list[Any] = list(FlowReader(file).stream())
    kept = [flow.response.raw_content for flow in read]
    assert kept == [b"answer to one", b"answer to two"]


def test_without_the_option_it_is_found_among_the_recordings(
    serve, mitmdump, tmp_path, monkeypatch
):
    server = serve(lambda request, reply: reply.body(b"{}"))
    running = mitmdump("capture.py", "--mode", f"reverse:{server.url}")
    post(running.port, "/v1/messages", b"one")
    running.ended()
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    with Session.open(newest()) as session:
        assert [exchange.request for exchange in session.exchanges()] == [b"one"]


def test_a_session_that_cannot_be_written_is_told_once_and_harms_no_traffic(
    serve, mitmdump, tmp_path
):
    server = serve(lambda request, reply: reply.body(b"{}"))
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "mine.cachediag"
    running = mitmdump(
        "capture.py", "--mode", f"reverse:{server.url}", "--set", f"cachediag_file={path}"
    )
    for _ in range(3):
        assert post(running.port, "/v1/messages", b"one") == b"{}"
    assert running.ended().count("the exchange was passed on unrecorded") == 1
