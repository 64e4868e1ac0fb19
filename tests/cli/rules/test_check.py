"""`cachediag rules check`."""

import json
from dataclasses import replace

import pytest

from cachediag.analysis.choice import choose
from cachediag.rules.pattern import compiled
from cachediag.session import Session
from tests.analysis.sessions import recorded
from tests.cli.running import ran
from tests.compare.bodies import raw
from tests.rules.trials import CCH, DROP, rotating


def test_safe_rules_end_with_0(capsys, session, rules):
    done = ran(capsys, "rules", "check", "stock", rules)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{rules} against stock   4 requests\n")
    assert f"next   cachediag fix strip --rules {rules} --upstream URL" in done.out


@pytest.mark.parametrize(
    ("meta", "live"),
    [
        (
            {"mode": "reverse", "upstream": "http://127.0.0.1:8000"},
            "--upstream http://127.0.0.1:8000",
        ),
        (
            {"mode": "reverse", "upstream": "http://127.0.0.1:8000", "client": "claude"},
            "--upstream http://127.0.0.1:8000 -- claude",
        ),
        (
            {"mode": "reverse", "upstream": "http://127.0.0.1:8000", "client": "made up"},
            "--upstream URL",
        ),
        ({"mode": "reverse", "upstream": "https://a.test https://b.test"}, "--upstream URL"),
        (
            {"mode": "reverse", "upstream": "https://a.test https://b.test", "client": "claude"},
            "-- claude",
        ),
        ({"mode": "forward", "upstream": "a.test"}, "--mode forward -- CMD"),
        (
            {"upstream": "http://127.0.0.1:1", "client": "python3.12"},
            "--upstream http://127.0.0.1:1 -- CMD",
        ),
        ({"mode": "forward", "upstream": "a.test", "client": "x y"}, "--mode forward -- 'x y'"),
    ],
)
def test_what_was_recorded_is_in_the_next_command(capsys, session, rules, meta, live):
    Session.create(session, meta=meta).close()
    done = ran(capsys, "rules", "check", "stock", rules)
    assert f"next   cachediag fix strip --rules {rules} {live}\n" in done.out


def test_refused_rules_end_with_1(capsys, session, write):
    done = ran(capsys, "rules", "check", write(DROP, CCH))
    assert done.code == 1
    assert "✗ refused: strip-header, still-cch: " in done.out
    assert "\nsafe" not in done.out


def test_profile_model_and_engine_are_those_of_the_file_or_as_asked(capsys, session, rules):
    def played(*options):
        done = ran(capsys, "rules", "check", rules, "--format", "json", *options)
        made = json.loads(done.out)
        return made["profile"], made["model"], made["engine"]

    assert played() == ("vllm-mlx@0.2.6", choose("messages", model_spec="qwen2.5").model, "none")
    assert played("--profile", "llama.cpp", "--engine", "llama.cpp:slots=1")[::2] == (
        "llama.cpp",
        "llama.cpp:slots=1",
    )
    assert played("--model", "qwen3")[1] == choose("messages", model_spec="qwen3").model


def test_anything_readable_is_a_session(capsys, rules, tmp_path):
    lines = tmp_path / "bodies.jsonl"
    lines.write_bytes(b"\n".join(map(raw, rotating())))
    done = ran(capsys, "rules", "check", lines, rules, "--format", "json")
    assert done.code == 0
    made = json.loads(done.out)
    assert (made["session"], made["totals"]["changed_requests"]) == ("bodies", 4)


def test_rules_are_tried_on_what_the_client_sent(capsys, home, rules):
    from cachediag.session import Session

    path = home / "sessions" / "stripped.cachediag"
    path.parent.mkdir(parents=True)
    with Session.create(path) as made:
        for exchange in recorded(rotating()):
            body = json.loads(exchange.request)
            del body["system"][0]
            made.append(replace(exchange, outgoing=raw(body)))
    done = ran(capsys, "rules", "check", "stripped", rules, "--format", "json")
    assert json.loads(done.out)["totals"]["changed_requests"] == 4


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("cch=[0-9a-f]{5}", "not anchored"),
        (r"\A(?:.*.*.*)*x", "strip-header"),
        (r"\A.*.*.*.*.*.*!", "steps"),
    ],
)
def test_a_pattern_that_could_run_away_is_refused_when_the_file_is_read(
    capsys, session, write, pattern, message
):
    path = write(DROP)
    text = path.read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("pattern")]
    path.write_text(text.replace(line, f"pattern = '{pattern}'"), encoding="utf-8")
    done = ran(capsys, "rules", "check", path)
    assert (done.code, done.out) == (2, "")
    first, _ = done.err.splitlines()
    assert first.startswith(f"cachediag: {path}:")
    assert message in first


# About as many steps as a pattern may take.
PLODDING = r"^Rule A: [a-z ]{1,950}[^!\n]{1,950}!"


def test_a_pattern_of_many_steps_is_tried_a_few_times_on_hostile_text(capsys, write, tmp_path):
    rule = replace(CCH, id="slow", path="system[1].text", pattern=PLODDING)
    bodies = rotating()
    for made in bodies:
        made["system"][1]["text"] = "Rule A: aaaa\n" * 4_000 + "Rule A: " + "a " * 40_000
    lines = tmp_path / "hostile.jsonl"
    lines.write_bytes(b"\n".join(map(raw, bodies)))
    assert compiled(PLODDING).tries == 16
    done = ran(capsys, "rules", "check", lines, write(rule))
    assert done.code == 0
    assert "slow: changes no request" in done.out


def test_wrong_usage(capsys, session, rules, tmp_path):
    for words, message in (
        (("stock",), "no rule file given"),
        ((rules, "3"), "checked against a whole session"),
        ((tmp_path / "none.toml",), "cannot be read"),
        (("nothing", rules), "nothing"),
        ((rules, "--engine", "abacus"), "no cache model is called 'abacus'"),
    ):
        done = ran(capsys, "rules", "check", *words)
        assert (done.code, done.out) == (2, "")
        assert message in done.err
