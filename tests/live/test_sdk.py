"""The `anthropic` SDK, recorded in both ways of standing between it and its server."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .clients import environment, record
from .recordings import Recording, codes
from .upstream import Call, Text, Turns, Upstream, localhost_tls

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
    authority = home / "ca.pem"
    with Upstream(SCRIPT, pause=PAUSE, tls=localhost_tls(authority)) as upstream:
        # The closed port would stand between the recorder and the upstream.
        del env["HTTPS_PROXY"], env["HTTP_PROXY"]
        env |= {"ANTHROPIC_BASE_URL": upstream.url, "SSL_CERT_FILE": str(authority)}
        yield recorded(upstream, home, "--mode", "forward", env=env)


def test_the_client_sees_the_stream_as_it_comes(recording: Recording) -> None:
    (finished,) = recording.finished
    assert finished.code == 0, finished.stderr
    said = json.loads(finished.stdout)
    assert said["text"] == "The back of the book."
    assert said["seconds"] > 0.8 * PAUSE


def test_bodies_and_answers_are_stored_byte_for_byte(recording: Recording) -> None:
    received = [(each.path, each.body, each.answer) for each in recording.received]
    assert len(received) == 4
    assert recording.stored() == received
    assert [recording.body(each["index"]) for each in recording.listed()] == [
        body for _, body, _ in received
    ]


def test_nothing_but_new_blocks(recording: Recording) -> None:
    first, *later = recording.pairs().values()
    assert codes(first) == {"N03"}
    assert [codes(pair) for pair in later] == [{"N01", "M01"}] * 3
    for pair in later:
        assert pair["shared_blocks"] == pair["blocks"]["a"]


def test_one_lane_in_order(recording: Recording) -> None:
    listed = recording.listed()
    assert [(each["lane"], each["kind"]) for each in listed] == [("main", "turn")] * 4
    numbers = [each["index"] for each in listed]
    assert [each["parent"] for each in listed] == [None, *numbers[:-1]]


def test_no_credential_is_stored(recording: Recording) -> None:
    recording.assert_private()
