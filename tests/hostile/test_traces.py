"""Traces and scenario files that are damaged, or hold numbers beyond all bounds."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.hostile_input import trace_line as line
from cachediag.simulate.scenario import parse_scenario, read_scenario
from cachediag.simulate.workloads import mooncake
from tests.hostile.refused import refusal
from tests.hostile.strategies import Json
from tests.hostile.work import growth

_SHARED = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_ODD = Json | st.sampled_from([10**400, -(10**30), 1e308, -1.0, float("nan"), float("inf")])


def played(path):
    return list(mooncake.read(path).requests(0))


@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(["timestamp", "input_length", "output_length", "hash_ids"], _ODD),
    )
)
@_SHARED
def test_any_field_of_a_line_may_hold_anything(tmp_path, fields):
    path = tmp_path / "trace.jsonl"
    path.write_bytes(line(0) + json.dumps(json.loads(line(1)) | fields).encode() + b"\n")
    error = refusal(lambda: played(path))
    if error is not None:
        assert str(error).startswith(f"{path}: line 2: ")
        assert "\n" not in str(error)


@given(st.data())
@_SHARED
def test_a_damaged_gzip_file_is_read_or_refused(tmp_path, data):
    path = tmp_path / "trace.jsonl.gz"
    whole = gzip.compress(b"".join(map(line, range(20))), mtime=0)
    at = data.draw(st.integers(2, len(whole) - 1))
    path.write_bytes(whole[:at] + data.draw(st.binary(max_size=3)) + whole[at + 1 :])
    error = refusal(lambda: played(path))
    assert error is None or str(error).startswith(f"{path}: ")


def test_a_line_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(mooncake, "_MAX_LINE", 1 << 16)
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(gzip.compress(b"[" * (50 << 20)))
    assert "line 1: is too long" in str(refusal(lambda: played(path)))


def test_the_work_grows_with_the_lines(tmp_path):
    def made(count):
        path = tmp_path / f"{count}.jsonl"
        path.write_bytes(b"".join(map(line, range(count))))
        return path

    assert len(played(made(5_000))) == 5_000
    assert growth(made, played, 500, 5_000) < 1.1


_LINES = st.sampled_from(
    (
        *(
            "version = 1",
            "version = nan",
            'about = ""',
            "policies = [1]",
            "[workload]",
            "[[change]]",
        ),
        *(
            'kind = "chats"',
            'kind = "mooncake"',
            'path = "/dev/zero"',
            'path = "../x"',
            "rate = inf",
        ),
        *(
            "[server]",
            "[fleet]",
            "replicas = -1",
            "a" + ".a" * 2_000 + " = 1",
            "x = " + "[" * 3_000,
        ),
        *("prefill_rate = 1e400", "concurrency = " + "9" * 5_000, "\x1b[2J", 'a = "\\ud800"'),
    )
)


@given(st.lists(_LINES | st.text(max_size=9), max_size=12).map("\n".join))
@_SHARED
def test_a_scenario_file_that_is_none_is_told_in_a_line(tmp_path, written):
    error = refusal(lambda: parse_scenario(written, str(tmp_path / "s.toml")))
    assert error is not None
    assert str(error).startswith(f"{tmp_path / 's.toml'}: ")


@pytest.mark.parametrize("deep", ["x = " + "[" * 3_000, "x = " + "9" * 5_000])
def test_a_scenario_file_beyond_all_bounds_is_refused(deep):
    assert refusal(lambda: parse_scenario(deep, "s.toml")) is not None


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_scenario_file(device):
    error = refusal(lambda: read_scenario(Path(device)))
    assert str(error).startswith(f"{device}: ")
