import json
from dataclasses import replace

import pytest

from cachediag.session import Session
from cachediag.simulate.policies import POLICIES
from tests.cli.running import ran
from tests.simulate.bodies import body, sent, user

PROFILE = ("--profile", "generic", "--model", "qwen2.5")
SAID = {"role": "assistant", "content": "It does."}


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """A recording of two conversations, of two turns each."""
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    path = tmp_path / "sessions" / "harbour.cachediag"
    path.parent.mkdir()
    talks = [f"What lies at quay {number}? " * 300 for number in range(2)]
    bodies = [body(user(talk)) for talk in talks]
    bodies += [body(user(talk), SAID, user("And behind it?")) for talk in talks]
    with Session.create(path) as made:
        for number, each in enumerate(sent(*bodies).items):
            at = 100.0 + 5 * number
            made.append(
                replace(each, info=replace(each.info, started=at, ended=at + 1, status=200))
            )
    return path


def test_all_policies_are_compared_on_the_newest_recording(capsys, recorded):
    done = ran(capsys, "simulate", *PROFILE, "--format", "json")
    assert (done.code, done.err) == (0, "")
    made = json.loads(done.out)
    assert made["schema"] == "cachediag.simulate/1"
    assert made["workload"]["name"] == "harbour"
    assert made["workload"]["requests"] == 4
    assert made["workload"]["exact"] is False
    assert [each["policy"] for each in made["policies"]] == list(POLICIES)
    by_name = {each["policy"]: each for each in made["policies"]}
    # A conversation that stays where it is finds all that one server would have, but for the system
    # prompt, of which each replica learns anew.
    assert by_name["session-hash"]["hit_rate"]["mean"] > by_name["round-robin"]["hit_rate"]["low"]
    assert made["ceiling"]["hit_rate"] >= by_name["session-hash"]["hit_rate"]["high"]


def test_the_report_ends_with_what_comes_next(capsys, recorded):
    done = ran(capsys, "simulate", recorded, *PROFILE, "--policy", "random", "--replicas", 2)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "harbour   4 requests   2 replicas   5 runs of each"
    assert lines[-2].startswith(f"next   cachediag simulate {recorded} --profile generic")
    assert lines[-2].endswith("--sweep")


def test_arrivals_engine_and_rates(capsys, recorded):
    words = ("--engine", "vllm", "--speed", 10, "--prefill-rate", 500, "--concurrency", 1)
    done = ran(capsys, "simulate", *PROFILE, *words, "--policy", "round-robin", "--format", "json")
    assert done.code == 0, done.err
    made = json.loads(done.out)
    assert made["server"]["engine"] == "vllm"
    assert made["server"]["prefill_rate"] == 500
    done = ran(capsys, "simulate", *PROFILE, "--closed", "--policy", "random", "--repeats", 1)
    assert done.code == 0, done.err
    assert "random: " in done.out


def test_a_sweep_recommends_a_pair(capsys, recorded, tmp_path):
    file = tmp_path / "sweep.svg"
    words = ("--sweep", "--rate", 3, "--repeats", 2, "--plot", file)
    done = ran(capsys, "simulate", *PROFILE, *words, "--format", "json")
    assert done.code == 0, done.err
    assert done.err == f"drawn in {file}\n"
    made = json.loads(done.out)
    swept = made["sweep"]
    assert swept["unit"] == "bytes"
    assert swept["recommended"] in swept["equals"]
    assert [each["length"] for each in swept["lengths"]] == [2**power for power in range(10, 17)]
    assert swept["lengths"][0]["heads"] == 2
    assert swept["lengths"][0]["without_leading"] == 4
    assert made["plot"] == str(file)
    assert "What lies" not in file.read_text(encoding="utf-8")


def test_a_sweep_can_count_characters(capsys, recorded):
    words = ("--sweep", "--rate", 3, "--repeats", 1, "--call", "openai")
    done = ran(capsys, "simulate", *PROFILE, *words)
    assert done.code == 0, done.err
    assert "PrefixLength in characters of the messages' text" in done.out
    assert ",call=OpenAI" in done.out.splitlines()[-1]


def test_a_session_goes_to_other_simulators_and_comes_back(capsys, recorded, tmp_path):
    file = tmp_path / "trace.jsonl"
    words = ("--policy", "round-robin", "--format", "json", "--repeats", 1)
    first = ran(capsys, "simulate", *PROFILE, "--export", file, *words)
    assert first.code == 0, first.err
    assert first.err == f"4 requests in {file}\n"
    assert b"quay" not in file.read_bytes()
    again = json.loads(ran(capsys, "simulate", file, *words).out)
    made = json.loads(first.out)
    assert made["export"] == str(file)
    for key in ("requests", "input_tokens", "output_tokens"):
        assert again["workload"][key] == made["workload"][key]
    assert again["workload"]["block_tokens"] == 512


def test_two_sessions_are_played_at_once(capsys, recorded):
    words = ("--policy", "random", "--repeats", 1, "--format", "json")
    done = ran(capsys, "simulate", recorded, recorded, *PROFILE, *words)
    assert done.code == 0, done.err
    assert json.loads(done.out)["workload"]["requests"] == 8


def test_plots_show_nothing_of_the_text(capsys, recorded, tmp_path):
    file = tmp_path / "fleet.svg"
    done = ran(capsys, "simulate", *PROFILE, "--plot", file, "--policy", "random", "--repeats", 1)
    assert done.code == 0, done.err
    assert b"quay" not in file.read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nope",), "nope: no such file, recorded session or scenario"),
        (("--policy", "nope"), "no routing policy is called 'nope'"),
        (("--plot", "a.pdf"), "a.pdf: a plot is a PNG or an SVG"),
        (("--sweep", "--policy", "random"), "--sweep tries sagemaker alone"),
        (("--call", "openai"), "it goes with --sweep"),
        (("--speed", 2, "--rate", 2), "requests come at a rate, or as recorded"),
        (("--engine", "vllm", "--capacity", 5), "an engine's own cache has its own options"),
        (("--seed", -1), "--seed: a seed is a number from 0 to"),
        (("sagemaker-chats", "--seed", -1), "--seed: a seed is a number from 0 to"),
        (("--closed", "--export", "x.jsonl"), "requests that wait for the end of others"),
        (("sagemaker-chats", "--sweep"), "only recorded requests have heads"),
        (("sagemaker-chats", "--model", "qwen3"), "--model is for recorded sessions"),
        (("sagemaker-chats", "harbour"), "several recorded sessions can be played at once"),
    ],
)
def test_what_cannot_be_is_told(capsys, recorded, words, said):
    done = ran(capsys, "simulate", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_negative_seed_is_refused_in_one_line(capsys, recorded):
    done = ran(capsys, "simulate", "--seed", -1)
    said = "cachediag: --seed: a seed is a number from 0 to 9223372036854775807, not -1\n"
    assert (done.code, done.out, done.err) == (2, "", said)


def test_the_latency_of_a_scenario_is_told(capsys, recorded, tmp_path):
    words = ("--policy", "random", "--repeats", 1)
    done = ran(capsys, "simulate", "hot-prefix", *words)
    assert "latency 50.0 ms" in done.out
    made = json.loads(ran(capsys, "simulate", "hot-prefix", *words, "--format", "json").out)
    assert made["server"]["latency_s"] == 0.05
