"""`addons/strip.py` in a mitmdump of the user's own."""

import threading
from http.client import HTTPConnection
from pathlib import Path

import pytest

from cachediag.session import Session

from .material import TOML, body

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text(TOML)
    return path


@pytest.fixture
def upstream(serve):
    return serve(lambda request, reply: reply.body(b"answer to " + request.body))


def post(port: int, path: str, sent: bytes) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", path, sent)
    content = connection.getresponse().read()
    connection.close()
    return content


def test_it_applies_the_rules_and_tells_what_it_did(mitmdump, upstream, rules):
    mode = ("--mode", f"reverse:{upstream.url}")
    running = mitmdump("strip.py", *mode, "--set", f"cachediag_rules={rules}")
    assert post(running.port, "/v1/messages", body(0)) == b"answer to " + body(0, stripped=True)
    assert post(running.port, "/elsewhere", body(1)) == b"answer to " + body(1)
    rules.write_text(TOML + "\n[[rule")
    post(running.port, "/v1/messages", body(2))
    said = running.ended()
    assert upstream.bodies == [body(0, stripped=True), body(1), body(2, stripped=True)]
    assert "strip-billing-header: 2 requests, " in said
    assert said.count("the rules read before stay in force") == 1


def test_behind_the_recorder_both_sides_are_kept(mitmdump, upstream, rules, tmp_path):
    path = tmp_path / "both.cachediag"
    running = mitmdump(
        "capture.py",
        *("-s", str(ROOT / "addons" / "strip.py"), "--mode", f"reverse:{upstream.url}"),
        *("--set", f"cachediag_file={path}", "--set", f"cachediag_rules={rules}"),
    )
    post(running.port, "/v1/messages", body(0))
    running.ended()
    with Session.open(path) as session:
        (exchange,) = session.exchanges()
    assert (exchange.request, exchange.outgoing) == (body(0), body(0, stripped=True))
    assert exchange.response == b"answer to " + body(0, stripped=True)


def test_a_stream_passes_live(mitmdump, serve, rules):
    seen = threading.Event()

    def answer(request, reply):
        reply.head(content_type="text/event-stream", transfer_encoding="chunked")
        reply.chunk(b"data: first\n\n")
        assert seen.wait(10)
        reply.raw(b"0\r\n\r\n")

    mode = ("--mode", f"reverse:{serve(answer).url}")
    running = mitmdump("strip.py", *mode, "--set", f"cachediag_rules={rules}")
    connection = HTTPConnection("127.0.0.1", running.port, timeout=10)
    connection.request("POST", "/v1/messages", body(0))
    response = connection.getresponse()
    assert response.read1(100) == b"data: first\n\n"
    seen.set()
    assert response.read() == b""
    connection.close()


def test_a_rule_file_that_is_wrong_stops_it_at_once(mitmdump, rules):
    rules.write_text("[[rule")
    running = mitmdump("strip.py", "--set", f"cachediag_rules={rules}")
    running.process.wait(20)
    assert running.process.returncode == 1
    assert f"{rules}:1: not TOML" in running.said
    assert "Traceback" not in running.said


def test_without_the_option_nothing_is_changed(mitmdump, upstream):
    running = mitmdump("strip.py", "--mode", f"reverse:{upstream.url}")
    post(running.port, "/v1/messages", body(0))
    running.ended()
    assert upstream.bodies == [body(0)]
