"""The `anthropic` SDK, recorded in both ways of standing between it and its server."""

import json
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from .clients import environment, record
from .recordings import Recording
from .upstream import Call, Text, Turns, Upstream

CLIENT = Path(__file__).with_name("sdk_client.py")
PAUSE = 0.5
SCRIPT = Turns(
    {
        "Explain": [[Call("look_up", {"word": "kettle stitch"})], [Text("A knot, so to speak.")]],
        "Next": [[Text("A band of silk – naïve, but 糸.")]],
        "Last": [[Text("The back of the book.")]],
    }
)


def recorded(upstream: Upstream, home: Path, *options: str, env: dict[str, str]) -> Recording:
    session = home / "books.cachediag"
    finished = record([sys.executable, CLIENT], session, *options, env=env, cwd=home)
    return Recording(session, upstream.received("/v1/messages"), [finished], env)


@pytest.fixture(scope="module", params=["reverse", "forward"])
def recording(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Recording]:
    home = tmp_path_factory.mktemp("home")
    env = environment(home)
    if request.param == "reverse":
        with Upstream(SCRIPT, pause=PAUSE) as upstream:
            yield recorded(upstream, home, "--upstream", upstream.url, env=env)
        return
    authority = trustme.CA()
    authority.cert_pem.write_to_path(home / "ca.pem")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(tls)
    with Upstream(SCRIPT, pause=PAUSE, tls=tls) as upstream:
        # Here the client must use the proxy that it is given, for a server that it knows.
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
            del env[name]
        env |= {"ANTHROPIC_BASE_URL": upstream.url, "SSL_CERT_FILE": str(home / "ca.pem")}
        yield recorded(upstream, home, "--mode", "forward", env=env)


def test_the_client_sees_the_stream_as_it_comes(recording: Recording) -> None:
    (finished,) = recording.finished
    assert finished.code == 0, finished.stderr
    said = json.loads(finished.stdout)
    assert said["text"] == "The back of the book."
    assert said["seconds"] > 0.8 * PAUSE


def test_bodies_and_answers_are_stored_byte_for_byte(recording: Recording) -> None:
    assert len(recording.received) == 4
    assert recording.exchanges() == [
        (each.path, each.body, each.answer) for each in recording.received
    ]


def test_nothing_but_new_blocks(recording: Recording) -> None:
    pairs = list(recording.pairs().values())
    assert [pair["parent"] for pair in pairs[1:]] == [pair["request"] for pair in pairs[:-1]]
    for pair in pairs[1:]:
        assert {finding["code"] for finding in pair["findings"]} - {"M01", "N02"} == {"N01"}
        assert pair["shared_blocks"] == pair["blocks"]["a"]


def test_no_credential_is_stored(recording: Recording) -> None:
    recording.assert_no_credential()
