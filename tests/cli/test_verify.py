import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from cachediag.cli.verify import _next as next_commands
from cachediag.rules.file import write_rules
from cachediag.rules.rule import RuleSet
from cachediag.session import Session
from cachediag.verify import experiment as running
from cachediag.verify.send import send
from cachediag.verify.statistics import Effects, Estimate
from cachediag.verify.verdict import Verdict
from tests.cli.running import ran
from tests.verify.sessions import STRIP, Backend, session, turn

PROFILE = ("--profile", "vllm-mlx@0.3.0:strip=off", "--model", "qwen2.5")


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A recording of four turns."""
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    path = tmp_path / "harbour.cachediag"
    with Session.create(path) as made:
        for each in session().items:
            made.append(each)
    return path


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text(write_rules(RuleSet((STRIP,))))
    return path


def test_a_session_is_replayed_with_rules_and_without(capsys, serve, recorded, rules):
    url = serve(Backend().answer).url
    done = ran(
        capsys,
        *("verify", recorded, "--backend", f"{url}/v1/", *PROFILE, "--engine", "sglang"),
        *("--rules", rules, "--repeats", 2, "--format", "json"),
    )
    assert done.code == 0, done.err
    made = json.loads(done.out)
    assert made["schema"] == "cachediag.verify/1"
    assert made["backend"]["url"] == url
    stock, fixed = made["arms"]
    assert (stock["name"], fixed["name"]) == ("as-recorded", "rules-only")
    for arm in made["arms"]:
        assert arm["predicted_reused_tokens"] == arm["measured_reused_tokens"]
        assert (arm["repeats"], arm["warm_turns"]) == (2, 6)
    assert fixed["measured_reused_tokens"] > 0.6 * fixed["prompt_tokens"]
    assert stock["measured_reused_tokens"] < 0.2 * stock["prompt_tokens"]
    assert set(made["effects"]["rules"]) == {"factor", "low", "high"}
    assert made["effects"]["patch"] is made["effects"]["interaction"] is None
    assert len(made["requests"]) == 16
    assert made["complete"]
    assert made["predicted_reuse_came"]
    assert "as recorded, round 1, 0 of 16 requests done\n" in done.err


def test_the_session_as_it_came_is_what_is_sent(capsys, serve, tmp_path, recorded):
    """Rules that were in force when it was recorded belong to no arm."""
    path = tmp_path / "stripped.cachediag"
    with Session.create(path) as made:
        for each in session(turn(0)).items:
            made.append(replace(each, outgoing=b'{"model":"x","messages":[]}'))
    backend = Backend(clears=True)
    done = ran(
        capsys, "verify", path, "--backend", serve(backend.answer).url, *PROFILE, "--repeats", 1
    )
    assert done.code == 0, done.err
    assert b"x-anthropic-billing-header" in backend.bodies[-1]


def test_the_next_command_follows_from_what_was_measured(capsys, serve, recorded, rules):
    backend = serve(Backend().answer).url
    words = ("verify", recorded, "--backend", backend, *PROFILE, "--engine", "sglang")
    done = ran(capsys, *words, "--repeats", 1)
    assert f"\nnext   cachediag rules new {recorded} -o rules.toml" in done.out


def noted(**factors):
    """A verdict of these effects, each many times faster or none."""
    effects = {
        name: None if factor is None else Estimate(factor, factor, factor)
        for name, factor in factors.items()
    }
    usual = {"rules": None, "patch": None, "both": None, "interaction": None}
    return Verdict((), Effects(**(usual | effects)), kept=True, sentences=())


@pytest.mark.parametrize(
    ("made", "backend", "rules", "shown"),
    [
        (noted(), None, None, ["rules new 's s' -o rules.toml"]),
        (noted(rules=1.0), None, "r.toml", ["rules check 's s' r.toml"]),
        (
            noted(rules=9.0),
            "http://me:key@h.test:1/v1",
            "a b.toml",
            ["fix strip --rules 'a b.toml' --upstream http://h.test:1/v1"],
        ),
        (
            noted(rules=1.0, patch=1.0, both=9.0),
            None,
            "r.toml",
            ["fix strip --rules r.toml --upstream URL", "fix patch --dry-run"],
        ),
        (
            replace(noted(rules=9.0), kept=False),
            "http://h.test:1",
            "r.toml",
            ["fix status 's s' --backend http://h.test:1"],
        ),
    ],
)
def test_each_outcome_has_its_next_command(made, backend, rules, shown):
    found = next_commands(made, session(), "'s s'", backend, rules and Path(rules))
    assert list(found) == [f"cachediag {each}" for each in shown]
    assert all(found.values())


def test_reuse_that_does_not_come_ends_with_1(capsys, serve, recorded):
    url = serve(Backend(lies=10**6).answer).url
    words = ("--backend", url, *PROFILE, "--engine", "sglang", "--repeats", 1)
    done = ran(capsys, "verify", recorded, *words)
    assert done.code == 1
    assert "The reuse that was predicted did not come in as recorded: 3 of 3" in done.out


def test_a_backend_that_fails_at_once_ends_with_3(capsys, serve, recorded):
    url = serve(Backend(fails_at=0).answer).url
    done = ran(capsys, "verify", recorded, "--backend", url, *PROFILE)
    assert (done.code, done.out) == (3, "")
    assert "HTTP 500: out of memory" in done.err


def test_a_backend_that_fails_later_ends_with_3_after_what_was_measured(capsys, serve, recorded):
    url = serve(Backend(fails_at=4).answer).url
    done = ran(capsys, "verify", recorded, "--backend", url, *PROFILE, "--format", "json")
    assert done.code == 3
    made = json.loads(done.out)
    assert not made["complete"]
    assert len(made["requests"]) == 3


def test_an_interrupt_ends_with_130_after_what_was_measured(capsys, serve, recorded, monkeypatch):
    sent = []

    def until_interrupted(*args, **kwargs):
        sent.append(1)
        if len(sent) == 4:
            raise KeyboardInterrupt
        return send(*args, **kwargs)

    monkeypatch.setattr(running, "send", until_interrupted)
    done = ran(capsys, "verify", recorded, "--backend", serve(Backend().answer).url, *PROFILE)
    assert done.code == 130
    assert "Ended early: this is what was measured up to then." in done.out
    assert re.search(r"^as recorded .* \d+ / \d+$", done.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name one backend"),
        (("--backend", "http://127.0.0.1:1", "--sandbox", "0.3.0"), "name one backend"),
        (("--backend", "localhost:8000"), "'localhost:8000' is no address of a server"),
        (("--sandbox", "llama.cpp@1"), "the sandbox has no 'llama.cpp@1'"),
        (("--sandbox", "mlx-lm@"), "the sandbox has no 'mlx-lm@'"),
        (("--serve-cmd", "vllm-mlx serve m --port 8000"), "there is no {port} in it"),
        (("--serve-cmd", "vllm-mlx 'x {port}"), "it cannot be read"),
        (("--backend", "http://127.0.0.1:1", "--backend-log", "/nowhere"), "no such log"),
        (("--backend", "http://127.0.0.1:1", "--header", "x"), "written NAME=VALUE"),
        (("--backend", "http://127.0.0.1:1", "--header", "a=env:NOPE"), "NOPE is not set"),
        (("--backend", "http://127.0.0.1:1", "--lane", "x"), "no request of a lane 'x'"),
    ],
)
def test_what_cannot_be_is_told(capsys, recorded, words, said, monkeypatch):
    monkeypatch.delenv("NOPE", raising=False)
    done = ran(capsys, "verify", recorded, *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_credential_is_read_from_a_variable(capsys, serve, recorded, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-of-mine")
    server = serve(Backend().answer)
    words = ("--header", "X-Api-Key=env:MY_KEY", "--repeats", 1, "--format", "json")
    done = ran(capsys, "verify", recorded, "--backend", server.url, *PROFILE, *words)
    assert done.code == 0
    assert {each.headers.get("x-api-key") for each in server.received} == {"secret-of-mine"}
    assert "secret-of-mine" not in done.out + done.err


class SentError(Exception):
    """It would be sent."""


@pytest.fixture
def nothing_leaves(monkeypatch):
    def run(*_: object, **__: object) -> None:
        raise SentError

    monkeypatch.setattr(running, "run", run)


@pytest.mark.usefixtures("nothing_leaves")
def test_a_paid_api_is_asked_only_where_the_user_says_so(capsys, tmp_path):
    path = tmp_path / "hosted.cachediag"
    with Session.create(path) as made:
        for number in range(2):
            body = turn(number).replace(b'"recorded"', b'"claude-sonnet-4-5"')
            made.append(session(body).items[0])
    words = ("verify", path, "--backend", "https://api.anthropic.com", "--repeats", 2)
    done = ran(capsys, *words)
    assert done.code == 2
    assert "4 requests would go to a paid API" in done.err
    assert "--yes" in done.err
    with pytest.raises(SentError):
        ran(capsys, *words, "--yes")
    assert "WARNING: 4 requests with what was recorded go to https://api.anthropic.com" in (
        capsys.readouterr().err
    )


@pytest.mark.usefixtures("nothing_leaves")
def test_a_server_outside_is_warned_of(capsys, recorded):
    with pytest.raises(SentError):
        ran(capsys, "verify", recorded, "--backend", "http://8.8.8.8:8000", *PROFILE)
    said = capsys.readouterr().err
    assert "WARNING: 12 requests with what was recorded go to http://8.8.8.8:8000, outside" in said
