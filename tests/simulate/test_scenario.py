"""Scenario files: those that come along, and what is said of those that are wrong."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cachediag.errors import CachediagError, InputError
from cachediag.simulate.loop import play
from cachediag.simulate.model import Change, Server
from cachediag.simulate.policies import policy
from cachediag.simulate.scenario import Scenario, named, parse_scenario, read_scenario, shipped

PLAIN = """\
version = 1
about = "two servers"
policies = ["random"]

[workload]
kind = "shared-prefix"
requests = 4
rate = 1

[server]
prefill_rate = 1000
decode_rate = 10
batch_rate = 20

[fleet]
replicas = 2
"""


def read(text: str) -> Scenario:
    return parse_scenario(text, "mine.toml")


def refused(text: str) -> CachediagError:
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.where == "mine.toml"
    assert caught.value.exit_code == 2
    return caught.value


def test_a_plain_file_is_read_and_what_it_leaves_out_has_its_default() -> None:
    scenario = read(PLAIN)
    assert (scenario.name, scenario.about) == ("mine", "two servers")
    assert scenario.policies == ("random",)
    assert scenario.assumed == ()
    fleet = scenario.fleet
    assert fleet.server == Server(prefill_rate=1000, decode_rate=10, batch_rate=20)
    assert (fleet.replicas, fleet.changes) == (2, ())
    assert (fleet.repeats, fleet.seed, fleet.limit) == (5, 0, None)
    assert len(list(fleet.workload.requests(0))) == 4


def test_every_key_is_taken() -> None:
    text = PLAIN.replace(
        "\n[workload]",
        'repeats = 3\nseed = 7\nlimit = 2\nassumed = ["one", "two"]\n\n[workload]',
    ).replace("[fleet]", 'latency = 0.5\nconcurrency = 4\ncapacity = 900\nengine = "vllm"\n[fleet]')
    text += "[[change]]\nat = 5\nreplicas = 1\n[[change]]\nat = 9.5\nreplicas = -2\n"
    scenario = read(text)
    assert scenario.assumed == ("one", "two")
    assert scenario.fleet.server == Server(
        prefill_rate=1000,
        decode_rate=10,
        batch_rate=20,
        latency=0.5,
        concurrency=4,
        capacity=900,
        engine="vllm",
    )
    assert scenario.fleet.changes == (Change(5, 1), Change(9.5, -2))
    fleet = scenario.fleet
    assert (fleet.repeats, fleet.seed, fleet.limit) == (3, 7, 2)


def test_an_amount_may_be_spread_out() -> None:
    text = PLAIN.replace("rate = 1\n", "rate = 1\nsuffix_tokens = {least = 50, most = 60}\n", 1)
    lengths = {each.input_tokens for each in read(text).fleet.workload.requests(0)}
    assert lengths <= set(range(8050, 8061))
    assert len(lengths) > 1


def test_a_trace_is_looked_for_beside_the_file(tmp_path: Path) -> None:
    line = {"timestamp": 500, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}
    (tmp_path / "trace.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    text = PLAIN.replace("requests = 4\nrate = 1\n", 'path = "trace.jsonl"\narrivals = "speed=2"\n')
    file = tmp_path / "mine.toml"
    file.write_text(text.replace("shared-prefix", "mooncake"), encoding="utf-8")
    (request,) = read_scenario(file).fleet.workload.requests(0)
    assert (request.arrival, request.input_tokens, request.output_tokens) == (0.25, 600, 3)


def test_a_session_is_looked_for_beside_the_file(tmp_path: Path) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "What is a prefix?"}]}
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(json.dumps(body), encoding="utf-8")
    keys = 'path = "."\nprofile = "vllm"\nmodel = "qwen3"\narrivals = "rate=2"\n'
    text = PLAIN.replace("requests = 4\nrate = 1\n", keys).replace("shared-prefix", "session")
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    requests = list(read_scenario(file).fleet.workload.requests(0))
    assert len(requests) == 3
    assert len({each.blocks for each in requests}) == 1
    assert all(each.heads is not None for each in requests)


@pytest.mark.parametrize(("profile", "exact"), [("vllm-mlx@0.6.0", True), ("anthropic", False)])
def test_a_session_of_a_hosted_model_has_estimated_tokens(
    tmp_path: Path, profile: str, exact: bool
) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "What is a prefix?"}]}
    (tmp_path / "0.json").write_text(json.dumps(body), encoding="utf-8")
    keys = f'path = "."\nprofile = "{profile}"\nmodel = "qwen3"\narrivals = "rate=2"\n'
    text = PLAIN.replace("requests = 4\nrate = 1\n", keys).replace("shared-prefix", "session")
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    assert read_scenario(file).fleet.workload.exact is exact
    assert read(PLAIN).fleet.workload.exact


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 1", "version = 2", "a scenario file of version 2; this cachediag reads 1"),
        ("version = 1\n", "", "missing required field `version`"),
        ("about", "abuot", "the file has no key 'abuot'"),
        ("prefill_rate", "prefil_rate", "[server] has no key 'prefil_rate'"),
        ("requests = 4", "requests = 4\nprefix = 9", "[workload] has no key 'prefix'"),
        (
            "rate = 1\n",
            "rate = 1\nsuffix_tokens = {means = 3}\n",
            "suffix_tokens of [workload] has",
        ),
        ("replicas = 2", "replicas = 2\nsize = 3", "[fleet] has no key 'size'"),
        ('kind = "shared-prefix"\n', "", "[workload] has no kind"),
        ("shared-prefix", "chat", "[workload] has kind = 'chat', which there is not"),
        ("= 1000", '= "fast"', "prefill_rate of [server]: expected `float`, got `str`"),
        ("= 1000", "= 0", "prefill_rate of [server] must be above 0, not 0"),
        (
            "batch_rate = 20",
            "batch_rate = 20\nlatency = -1",
            "latency of [server] must be 0 or more",
        ),
        ('["random"]', '["randon"]', "no routing policy is called 'randon'"),
        ('["random"]', "[]", "policies is empty"),
        ("version = 1", "version = 1\nrepeats = 0", "repeats must be 1 or more, not 0"),
        (
            "version = 1",
            "version = 1\nseed = -1",
            "seed must be from 0 to 9223372036854775807, not",
        ),
        ("\nrate = 1", "", "a workload needs either a rate or a number of clients"),
        ("requests = 4", "requests = 0", "requests must be 1 or more, not 0"),
        ("version = 1", "version =", "no scenario file: "),
    ],
)
def test_what_is_wrong_is_said_with_the_key(old: str, new: str, message: str) -> None:
    assert old in PLAIN
    assert message in refused(PLAIN.replace(old, new, 1)).message


def test_an_unknown_key_is_answered_with_those_that_are_known() -> None:
    error = refused(PLAIN.replace("replicas", "servers"))
    assert error.remedy == "Its keys are: replicas."


def test_a_trace_that_is_not_there_is_named_with_the_file_that_asks_for_it() -> None:
    text = PLAIN.replace("requests = 4\nrate = 1\n", 'path = "gone.jsonl"\n')
    error = refused(text.replace("shared-prefix", "mooncake"))
    assert error.message.startswith("gone.jsonl: ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone.toml"
    with pytest.raises(InputError, match="cannot be read") as caught:
        read_scenario(gone)
    assert caught.value.where == str(gone)
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'about = "\xe9"')
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_scenario(latin)


def test_scenarios_come_along() -> None:
    assert shipped() == ("hot-prefix", "sagemaker-chats", "sagemaker-shared-prefix", "scale-out")
    assert named("nobody") is None


@pytest.mark.parametrize("name", shipped())
def test_each_scenario_that_comes_along_can_be_played(name: str) -> None:
    scenario = named(name)
    assert scenario is not None
    assert scenario.name == name
    assert scenario.about
    assert scenario.assumed
    fleet = scenario.fleet
    for spec in scenario.policies:
        run = play(
            fleet.workload,
            fleet.server,
            policy(spec),
            replicas=fleet.replicas,
            seed=fleet.seed,
            changes=fleet.changes,
            limit=40,
        )
        assert run.requests == 40


def test_both_published_benchmarks_are_played_on_the_same_servers() -> None:
    """What differs between them may only be what is asked."""
    prefix, chats = named("sagemaker-shared-prefix"), named("sagemaker-chats")
    assert prefix is not None
    assert chats is not None
    assert prefix.fleet.server == chats.fleet.server
    assert prefix.policies == chats.policies
    assert prefix.fleet.replicas == chats.fleet.replicas == 7


def test_the_published_times_to_first_token_give_the_speed_of_the_servers() -> None:
    """63 ms for a hit of 8,000 tokens, 280 ms for a miss, both with 256 tokens behind them."""
    scenario = named("sagemaker-shared-prefix")
    assert scenario is not None
    server = scenario.fleet.server
    rate = 8_000 / (0.280 - 0.063)
    assert server.prefill_rate == round(rate, -3)
    assert server.latency == round(0.063 - 256 / rate, 3)


def test_latency_is_in_both_times_and_keeps_no_replica_busy() -> None:
    fleet = read(PLAIN.replace("\nrate = 1", "\nclients = 1")).fleet
    at_once = play(fleet.workload, fleet.server, policy("random"), replicas=1, seed=0)
    late = play(
        fleet.workload,
        replace(fleet.server, latency=0.25),
        policy("random"),
        replicas=1,
        seed=0,
    )
    assert [each - 0.25 for each in late.ttft] == pytest.approx(list(at_once.ttft))
    assert [each - 0.25 for each in late.total] == pytest.approx(list(at_once.total))
    assert list(late.busy) == pytest.approx(list(at_once.busy))
    # Three of the four are sent when the one before has come back; the last comes back too.
    assert late.seconds - at_once.seconds == pytest.approx(1.0)
