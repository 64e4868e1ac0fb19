"""Replays on real engines: what they say they reused, against what was predicted.

Seconds are measured and not looked at: the machine is shared.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from cachediag.backends import sandbox
from cachediag.model import Exchange, ExchangeInfo
from cachediag.rules.rule import Rule, RuleSet
from cachediag.session.source import MemorySource, numbered
from cachediag.verify.backends import Place, Sandboxed, Served
from cachediag.verify.experiment import Experiment, Replay, run
from cachediag.verify.plan import plan
from cachediag.verify.setup import Setup, Wanted, setup
from cachediag.verify.verdict import verdict
from tests.live.engines_packages import live_sandbox
from tests.verify.sessions import STRIP, session, turn

_SUB = "You search the harbour's plans and report what you found, and nothing else. " * 8


def _quiet(said: str) -> None:
    pytest.fail(said)


def replayed(
    ready: Setup, opened: MemorySource, rules: Sequence[Rule], place: Place, repeats: int
) -> Experiment:
    """An experiment that came to its end."""
    planned = plan(opened, rules, ready.choices[False], _quiet)
    replay = Replay(arms=ready.arms, repeats=repeats, headers={})
    made = run(planned, place, ready.choices, replay, lambda _: None)
    assert made.failure is None
    assert len(made.measured) == repeats * len(ready.arms) * len(planned.recorded)
    for each in made.measured:
        assert each.exact
        assert each.reported_prompt in (None, each.prompt_tokens)
    return made


def reuse(made: Experiment, arm: str) -> list[int | None]:
    """What an arm's requests reused, having been predicted so; in each round the same."""
    own = [each for each in made.measured if each.arm == arm]
    assert [each.predicted for each in own] == [each.reused for each in own]
    rounds = [
        [each.reused for each in own if each.repeat == repeat] for repeat in range(made.repeats)
    ]
    assert rounds[1:] == rounds[:-1]
    return rounds[0]


def test_two_fixes_of_which_neither_alone_does_anything() -> None:
    """vllm-mlx 0.3.0 with its own removal of the header off: a main loop and a sub-agent."""
    bodies = [turn(0), turn(0, system=_SUB), turn(1), turn(1, system=_SUB), turn(2)]
    opened, ruleset = session(*bodies), RuleSet((STRIP,), profile="vllm-mlx@0.3.0:strip=off")
    ready = setup(Wanted(sandbox="0.3.0"), opened, "messages", ruleset, print)
    assert isinstance(ready.place, Sandboxed)
    place = replace(ready.place, sandbox=live_sandbox())
    made = replayed(ready, opened, [STRIP], place, repeats=2)
    assert [arm.name for arm in made.arms] == ["as-recorded", "rules-only", "patch-only", "both"]
    assert made.emptied == "cleared"
    for arm in ("as-recorded", "rules-only", "patch-only"):
        assert reuse(made, arm) == [0] * 5
    both = reuse(made, "both")
    assert [bool(tokens) for tokens in both] == [False, False, True, True, True]
    turns = [each for each in made.measured if each.arm == "both"]
    assert {each.source for each in turns} == {"usage.cache_read_input_tokens"}
    # Each warm turn prefills what is new, and the token before it.
    assert all(each.prompt_tokens - (each.reused or 0) < 40 for each in turns if each.warm)
    assert verdict(made).kept


def test_a_command_of_the_users_is_run_without_the_patch_and_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """vllm-mlx 0.6.0, whose own cache keeps system prefixes, and says so in its log alone."""
    box = live_sandbox()
    site = sandbox.site(box, "vllm-mlx", "0.6.0")
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*.py")}
    monkeypatch.setenv("PYTHONPATH", str(site))
    start = "import sys; from vllm_mlx.cli import main; sys.exit(main())"
    words = ("serve", str(sandbox.model(box)), "--host", "127.0.0.1", "--port", "{port}")
    command = (str(sandbox.python(box)), "-c", f"'{start}'", *words)
    opened = session(turn(0), turn(1), turn(2))
    wanted = Wanted(serve_cmd=" ".join(command), model=sandbox.MODEL_SPEC)
    ready = setup(wanted, opened, "messages", None, print)
    assert isinstance(ready.place, Served)
    assert ready.place.version == "0.6.0"
    made = replayed(ready, opened, [], ready.place, repeats=1)
    assert made.emptied == "restarted"
    stock, patched = reuse(made, "as-recorded"), reuse(made, "patch-only")
    assert stock[1] == stock[2] != 0
    assert stock[0] == patched[0] == 0
    assert all(
        0 < (own or 0) < (ours or 0) for own, ours in zip(stock[1:], patched[1:], strict=True)
    )
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*.py")} == before


def chat(number: int) -> bytes:
    """A chat request after some finished turns, with a number at its head that is always new."""
    messages = [
        {"role": "system", "content": f"build {number:05x}\n{_SUB}"},
        {"role": "user", "content": "What lies at the quay?"},
    ]
    for each in range(number):
        messages.append({"role": "assistant", "content": f"Ship {each} does."})
        messages.append({"role": "user", "content": f"And behind ship {each}?"})
    body = {"model": "recorded", "messages": messages, "max_tokens": 900, "stream": number != 1}
    return json.dumps(body).encode()


STILL = Rule(
    "still-build",
    "V04",
    "replace",
    "chat",
    "messages[0].content",
    pattern=r"\Abuild ([0-9a-f]{5})",
    value="00000",
)


def test_rules_alone_where_the_engine_keeps_a_cache() -> None:
    """mlx-lm, which cannot be told to clear its cache: each run is salted."""
    info = ExchangeInfo(endpoint="chat", path="/v1/chat/completions", model="recorded")
    opened = numbered("harbour", [Exchange(info, chat(number)) for number in range(5)])
    ready = setup(Wanted(sandbox="mlx-lm@0.31.3"), opened, "chat", RuleSet((STILL,)), print)
    assert isinstance(ready.place, Sandboxed)
    place = replace(ready.place, sandbox=live_sandbox())
    made = replayed(ready, opened, [STILL], place, repeats=2)
    assert made.emptied == "salted"
    assert all(each.predicted == each.reused for each in made.measured)
    for each in made.measured:
        rest = each.prompt_tokens - (each.reused or 0)
        is_warm = each.arm == "rules-only" and each.index > 0
        assert rest < 40 if is_warm else rest > 100
    assert verdict(made).kept
