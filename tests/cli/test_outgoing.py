"""Commands look at what went on to the server, and at what the client sent where asked to."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cachediag.model import Exchange, ExchangeInfo
from cachediag.session import Session
from tests.cli.running import ran
from tests.fix.material import body

NOTE = (
    "note: 2 requests went on to the server changed; this is what went on (--incoming: what came"
    " in)\n"
)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two turns with a new header in each, which was taken out on the way."""
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    path = tmp_path / "sessions" / "clocks.cachediag"
    path.parent.mkdir()
    info = ExchangeInfo(endpoint="messages", path="/v1/messages")
    with Session.create(path) as made:
        for number in range(2):
            sent = Exchange(info, body(number), b"tick", body(number, stripped=True))
            made.append(sent)
    return "clocks"


def codes(document: str) -> set[str]:
    found = [each["findings"] for each in json.loads(document)["pairs"]]
    return {finding["code"] for findings in found for finding in findings}


def test_diff(capsys, session):
    went = ran(capsys, "diff", session, "--format", "json")
    came = ran(capsys, "diff", session, "--incoming", "--format", "json")
    assert ("V01" in codes(went.out), "V01" in codes(came.out)) == (False, True)
    assert (went.err, came.err) == (NOTE, "")


def test_diff_of_a_pair(capsys, session):
    went = json.loads(ran(capsys, "diff", session, "--pair", "0:1", "--format", "json").out)
    came = ran(capsys, "diff", session, "--pair", "0:1", "--incoming", "--format", "json")
    assert went["bytes"]["a"] == len(body(0, stripped=True))
    assert json.loads(came.out)["bytes"]["a"] == len(body(0))


def test_the_next_command_looks_at_the_same(capsys, session):
    came = ran(capsys, "diff", session, "--incoming")
    assert f"cachediag diff {session} --incoming --pair 0:1" in came.out


def test_analyze(capsys, session):
    def causes(*options: str) -> list[str]:
        words = ("analyze", session, "--profile", "vllm-mlx@0.2.6", "--model", "qwen3")
        done = ran(capsys, *words, *options, "--format", "json")
        assert done.err == ("" if options else NOTE)
        return [
            finding["code"]
            for request in json.loads(done.out)["requests"]
            for finding in request["findings"]
            if finding["severity"] == "break"
        ]

    told = ran(capsys, "analyze", session, "--profile", "vllm-mlx@0.2.6", "--incoming").out
    (following,) = [line for line in told.splitlines() if line.startswith("next ")]
    assert " --incoming" in following
    assert causes() == []
    assert causes("--incoming") == ["V01"]


def test_show(capsys, session):
    listed = json.loads(ran(capsys, "show", session, "--format", "json").out)["exchanges"]
    size = len(body(0, stripped=True))
    sizes = [(each["request_bytes"], each["outgoing_bytes"]) for each in listed]
    assert sizes == [(size, size)] * 2
    came = ran(capsys, "show", session, "--incoming", "--format", "json")
    listed = json.loads(came.out)["exchanges"]
    assert [each["request_bytes"] for each in listed] == [len(body(0))] * 2
    one = ran(capsys, "show", session, "0")
    assert (one.code, one.err) == (0, NOTE)
    assert "system[1]" not in one.out
    assert "system[1]" in ran(capsys, "show", session, "0", "--incoming").out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--body"], body(1)),
        (["--body", "--incoming"], body(1)),
        (["--body", "--outgoing"], body(1, stripped=True)),
        (["--response"], b"tick"),
    ],
)
def test_bytes_are_those_that_were_asked_for_and_nothing_else(session, options, expected):
    command = [sys.executable, "-m", "cachediag", "show", session, "1", *options]
    done = subprocess.run(command, check=True, capture_output=True)
    assert (done.stdout, done.stderr) == (expected, b"")


@pytest.mark.parametrize("options", [("--outgoing",), ("--body", "--outgoing", "--incoming")])
def test_options_that_make_no_sense_together(capsys, session, options):
    done = ran(capsys, "show", session, "1", *options)
    assert (done.code, done.out) == (2, "")
    assert "--outgoing goes with --body, and not with --incoming" in done.err


def test_an_import_keeps_both(capsys, session, tmp_path):
    done = ran(
        capsys, "import", tmp_path / "sessions" / "clocks.cachediag", "-o", tmp_path / "copy.db"
    )
    assert done.code == 0
    with Session.open(tmp_path / "copy.db") as made:
        assert [(each.request, each.outgoing) for each in made.exchanges()] == [
            (body(number), body(number, stripped=True)) for number in range(2)
        ]
