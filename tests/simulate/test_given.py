"""What is played: which kind of thing is named, and what servers are taken to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from cachediag.errors import UsageError
from cachediag.model import Usage
from cachediag.session import Session
from cachediag.session.source import MemorySource, numbered
from cachediag.simulate.given import Measured, Wanted, kind_of, measure, scenario, sessions, trace
from cachediag.simulate.policies import POLICIES
from cachediag.simulate.scenario import shipped
from tests.simulate.bodies import body, sent, user
from tests.verify.sessions import choice

TRACE = b'{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [0, 1]}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    (tmp_path / "sessions").mkdir()
    return tmp_path


def test_what_is_named_is_told_by_what_it_is(home: Path) -> None:
    file = home / "trace.txt"
    file.write_bytes(TRACE)
    assert kind_of(str(file)) == "trace"
    toml = home / "mine.toml"
    toml.touch()
    assert kind_of(str(toml)) == "scenario-file"
    one = home / "body.json"
    one.write_bytes(body(user("Hello")))
    assert kind_of(str(one)) == kind_of(str(home)) == kind_of("-") == "session"
    name = shipped()[0]
    assert kind_of(name) == "scenario"
    # What was recorded under the same name comes first.
    Session.create(home / "sessions" / f"{name}.cachediag").close()
    assert kind_of(name) == "session"


def test_nothing_of_that_name_lists_the_scenarios(home: Path) -> None:
    with pytest.raises(UsageError, match="no such file, recorded session or scenario") as raised:
        kind_of("nope")
    assert all(name in str(raised.value.remedy) for name in shipped())


def timed(first: float, end: float, output: int | None) -> MemorySource:
    """One request of some 1,850 tokens, with the seconds at which its tokens came."""
    (made,) = sent(body(user("What lies at the quay? " * 200))).items
    info = replace(
        made.info,
        started=100.0,
        first_token=100.0 + first,
        ended=100.0 + end,
        status=200,
        usage=Usage(output_tokens=output),
    )
    return numbered("harbour", [replace(made, info=info)])


def test_rates_are_measured_from_the_times_of_a_recording() -> None:
    found = measure([timed(2.0, 4.0, 101)], choice())
    tokens = len(
        choice().counter.tokens(
            choice().counter.parser.parse(body(user("What lies at the quay? " * 200)))
        )
    )
    assert found.prefill_rate == tokens / 2.0
    # 100 tokens behind the first, in 2 seconds.
    assert found.decode_rate == 50


@pytest.mark.parametrize(
    "source", [timed(2.0, 4.0, None), timed(2.0, 4.0, 15), timed(2.0, 2.001, 1000)]
)
def test_few_tokens_and_those_that_came_at_once_measure_nothing(source: MemorySource) -> None:
    assert measure([source], choice()).decode_rate is None


def test_a_session_is_played_on_servers_like_its_own() -> None:
    given = sessions([timed(2.0, 4.0, 101)], choice(), Wanted())
    server = given.fleet.server
    assert server.decode_rate == 50
    assert server.batch_rate == 32 * 50
    assert (given.fleet.replicas, given.fleet.repeats, given.fleet.seed) == (4, 5, 0)
    assert given.policies == tuple(POLICIES)
    assert given.told[1] == (
        "50 tokens a second of a reply: an estimate, measured from the recording"
    )
    assert given.told[2].endswith("taken for 32 at full pace")


def test_what_is_given_comes_before_what_was_measured(tmp_path: Path) -> None:
    wanted = Wanted(
        replicas=2, repeats=3, seed=7, prefill_rate=9, decode_rate=8, batch_rate=7, concurrency=6
    )
    given = sessions([timed(2.0, 4.0, 101)], choice(), wanted)
    server = given.fleet.server
    assert (server.prefill_rate, server.decode_rate, server.batch_rate) == (9, 8, 7)
    assert (server.concurrency, server.capacity) == (6, None)
    assert (given.fleet.replicas, given.fleet.repeats, given.fleet.seed) == (2, 3, 7)
    assert all(line.endswith(": as given") for line in given.told)


def test_a_trace_tells_nothing_of_its_servers(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_bytes(TRACE)
    given = trace(str(file), Wanted(capacity=5, speed=2.0))
    assert given.fleet.workload.exact
    assert given.sources == ()
    assert given.fleet.server.capacity == 5
    assert given.fleet.server.prefill_rate == 10_000
    assert given.told[0].endswith("taken, since nothing tells")


def test_a_scenario_is_played_as_it_says_but_for_what_is_given() -> None:
    name = shipped()[0]
    wanted = Wanted(replicas=9, capacity=1_300_000)
    own, given = scenario(name, Wanted()), scenario(name, wanted)
    assert given.fleet.replicas == 9
    assert given.fleet.server == replace(own.fleet.server, capacity=1_300_000)
    assert given.policies == own.policies
    assert given.told[:2] == (
        "capacity 1,300,000: as given, not as in the scenario",
        "replicas 9: as given, not as in the scenario",
    )
    assert given.told[2:] == own.told


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(engine="vllm"), "--engine is for recorded sessions"),
        (Wanted(speed=2.0), "--speed is for recorded sessions"),
        (Wanted(rate=2.0), "--rate is for recorded sessions"),
        (Wanted(closed=True), "--closed is for recorded sessions"),
        (Wanted(speed=1.0, rate=2.0), "requests come at a rate, or as recorded"),
        (Wanted(seed=-1), "a seed is a number from 0 to 9223372036854775807, not -1"),
        (Wanted(seed=2**63), "not 9223372036854775808"),
        (Wanted(engine="vllm", capacity=5), "an engine's own cache has its own options"),
    ],
)
def test_what_makes_no_sense_is_refused(wanted: Wanted, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        scenario(shipped()[0], wanted)
    assert said in str(raised.value)


def test_nothing_measured_is_nothing_known() -> None:
    assert measure([], choice()) == Measured(None, None)
