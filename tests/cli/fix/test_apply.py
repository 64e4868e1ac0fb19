"""`cachediag fix apply`: a session as it would have been with rules."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cachediag.model import Exchange, ExchangeInfo
from cachediag.session import Session
from tests.cli.running import ran
from tests.fix.material import TOML, body, header


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three turns, recorded; one of them cut off, and one that went on changed."""
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    Path("rules.toml").write_text(TOML)
    path = tmp_path / "home" / "sessions" / "clocks.cachediag"
    path.parent.mkdir(parents=True)
    info = ExchangeInfo(endpoint="messages", path="/v1/messages")
    with Session.create(path, meta={"upstream": "http://mac"}) as made:
        made.append(Exchange(info, body(0), b"tick"))
        made.append(Exchange(info, b'{"cut'))
        made.append(replace(Exchange(info, body(2)), outgoing=b"{}"))
    return path


SIZE = len(json.dumps(header(0)))


def test_the_new_session_has_the_requests_as_the_rules_make_them(capsys, session):
    before = session.read_bytes()
    done = ran(capsys, "fix", "apply", "clocks", "rules.toml", "-o", "fixed.cachediag")
    assert done.code == 0
    assert done.out.splitlines() == [
        "clocks   2 requests",
        "2 of 2 requests changed by rules",
        f"  strip-billing-header       2 requests        {2 * SIZE} bytes",
        "",
        "next   cachediag analyze fixed.cachediag   what it costs now",
    ]
    assert done.err.startswith("note: request 1 stays as it was: JSON ends too early")
    with Session.open(Path("fixed.cachediag")) as made:
        requests = [(each.request, each.outgoing) for each in made.exchanges()]
        assert made.exchange(0).response == b"tick"
        assert made.meta["upstream"] == "http://mac"
        assert (made.meta["rules"], made.meta["made_from"]) == ("rules.toml", "clocks")
    assert requests == [
        (body(0, stripped=True), None),
        (b'{"cut', None),
        (body(2, stripped=True), None),
    ]
    assert Path("fixed.cachediag").stat().st_mode & 0o777 == 0o600
    assert session.read_bytes() == before


def test_a_dry_run_tells_and_writes_nothing(capsys, session, tmp_path):
    before = session.read_bytes()
    done = ran(capsys, "fix", "apply", "rules.toml", "--dry-run", "--format", "json")
    assert json.loads(done.out) == {
        "schema": "cachediag.fix/1",
        "session": "clocks",
        "rule_file": "rules.toml",
        "written": None,
        "requests": 2,
        "changed_requests": 2,
        "changed_bytes": 2 * SIZE,
        "rules": [
            {
                "id": "strip-billing-header",
                "finding": "V01",
                "action": "drop-block",
                "path": "system[0]",
                "enabled": True,
                "requests": 2,
                "bytes": 2 * SIZE,
            },
            {
                "id": "sort-tools",
                "finding": "O01",
                "action": "sort",
                "path": "tools",
                "enabled": False,
                "requests": 0,
                "bytes": 0,
            },
        ],
        "notes": [
            "request 1 stays as it was: JSON ends too early (line 1, column 6)",
        ],
    }
    text = ran(capsys, "fix", "apply", "rules.toml", "--dry-run")
    assert text.out.splitlines()[-1] == "nothing was written"
    assert session.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [tmp_path / "home", tmp_path / "rules.toml"]
    assert {path.name.partition(".")[0] for path in session.parent.iterdir()} == {"clocks"}


def test_any_readable_source_will_do(capsys, session, tmp_path):
    Path("one.json").write_bytes(body(0))
    done = ran(capsys, "fix", "apply", "one.json", "rules.toml", "-o", "fixed.cachediag")
    assert done.code == 0
    with Session.open(Path("fixed.cachediag")) as made:
        assert [each.request for each in made.exchanges()] == [body(0, stripped=True)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("clocks", "rules.toml"), "give either -o FILE or --dry-run"),
        (
            ("clocks", "rules.toml", "-o", "new.cachediag", "--dry-run"),
            "give either -o FILE or --dry-run",
        ),
        (("clocks", "rules.toml", "-o", "rules.toml"), "rules.toml: exists already"),
        (("clocks", "rules.toml", "4", "--dry-run"), "rules are applied to a whole session"),
        (("clocks", "missing.toml", "--dry-run"), "missing.toml: cannot be read"),
        (("nowhere", "rules.toml", "--dry-run"), "nowhere: no such file"),
        (("clocks", "-o", "new.cachediag"), "no rule file given"),
    ],
)
def test_what_cannot_be_done_is_said(capsys, session, words, said):
    done = ran(capsys, "fix", "apply", *words)
    assert (done.code, done.out) == (2, "")
    assert f"cachediag: {said}" in done.err
    assert Path("rules.toml").read_text() == TOML
    assert not Path("new.cachediag").exists()
