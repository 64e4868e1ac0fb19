"""Mooncake's traces: read to the block, written without a word, and refused by line."""

import gzip
import json
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import InputError, UsageError
from cachediag.simulate.model import Request, Scale, Workload
from cachediag.simulate.workloads import mooncake
from cachediag.simulate.workloads.arrivals import Arrivals
from cachediag.simulate.workloads.chats import Chats
from cachediag.simulate.workloads.shared_prefix import SharedPrefix

TRACES = os.environ.get("CACHEDIAG_TRACES")


def line(timestamp: float, length: int, ids: Iterable[int], output: int = 5) -> dict[str, Any]:
    return {
        "timestamp": timestamp,
        "input_length": length,
        "output_length": output,
        "hash_ids": list(ids),
    }


def written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def rows(requests: Iterable[Request]) -> list[tuple[Any, ...]]:
    return [(each.arrival, each.blocks, each.input_tokens, each.output_tokens) for each in requests]


def hits(requests: Iterable[Request]) -> tuple[int, int]:
    """Blocks whose whole prefix was seen before, and all blocks."""
    seen: set[int] = set()
    found = count = 0
    for request in requests:
        count += len(request.blocks)
        for key in request.blocks:
            if key not in seen:
                break
            found += 1
        seen.update(request.blocks)
    return found, count


def test_a_trace_counted_by_hand(tmp_path: Path) -> None:
    """Blocks found again, request by request: a last one that is not full counts, too.

    | blocks  | found again | of |
    |---------|-------------|----|
    | 0 1 4   | 0           | 3  |
    | 0 1 2 3 | 2 (0 1)     | 4  |
    | 0 8 9   | 1 (0)       | 3  |
    | 0 1 2 3 | 4           | 4  |
    | 0 1 4   | 3           | 3  |
    |         | 10          | 17 |
    """
    trace = written(
        tmp_path / "made-up.jsonl",
        line(0, 1_100, [0, 1, 4]),
        line(500, 2_000, [0, 1, 2, 3]),
        line(500, 1_536, [0, 8, 9]),
        line(1_250, 2_000, [0, 1, 2, 3]),
        line(9_000, 1_536, [0, 1, 4], output=1),
    )
    made = mooncake.read(trace)
    assert (made.name, made.scale) == ("made-up.jsonl", Scale(512))
    found = list(made.requests(0))
    assert rows(found)[3:] == [(1.25, (0, 1, 2, 3), 2_000, 5), (9.0, (0, 1, 4), 1_536, 1)]
    assert hits(found) == (10, 17)
    assert all(each.kept is None and each.then is None for each in found)


@pytest.mark.skipif(TRACES is None, reason="CACHEDIAG_TRACES names no folder with the traces")
@pytest.mark.parametrize(
    ("name", "requests", "expected"),
    [
        ("mooncake_conversation.jsonl.gz", 12_031, (105_710, 288_500)),
        ("mooncake_synthetic.jsonl.gz", 3_993, (77_953, 121_877)),
    ],
)
def test_the_published_traces_to_the_block(
    name: str, requests: int, expected: tuple[int, int], tmp_path: Path
) -> None:
    made = mooncake.read(Path(TRACES or "") / name)
    found = list(made.requests(0))
    assert len(found) == requests
    assert hits(found) == expected
    again = tmp_path / "again.jsonl.gz"
    assert mooncake.write(made, again) == requests
    assert hits(mooncake.read(again).requests(0)) == expected


def test_requests_go_on_with_what_they_begin_with(tmp_path: Path) -> None:
    trace = written(
        tmp_path / "trace",
        line(0, 1_100, [0, 1, 2]),  # a
        line(0, 1_100, [0, 3, 4]),  # b, though it begins alike
        line(0, 2_000, [0, 1, 5, 6]),  # goes on with a
        line(0, 2_600, [0, 1, 5, 7, 8, 9]),  # goes on with that
        line(0, 2_000, [0, 1, 10, 11]),  # a was gone on with: another
        line(0, 300, [12]),  # no whole block
        line(0, 300, [12]),  # likewise
    )
    sessions = [each.session for each in mooncake.read(trace).requests(0)]
    assert sessions == ["0-1", "0-2", "0-1", "0-1", "0-3", "0-4", "0-5"]


def test_packed_traces_are_told_by_their_content(tmp_path: Path) -> None:
    plain = written(tmp_path / "plain.gz", line(0, 5, [3]))
    packed = tmp_path / "packed.jsonl"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        assert rows(mooncake.read(path).requests(0)) == [(0.0, (3,), 5, 5)]


def test_fields_that_others_add_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("\n" + json.dumps(line(1, 5, [3]) | {"chat_id": 8}) + "\n\n")
    assert rows(mooncake.read(trace).requests(0)) == [(0.001, (3,), 5, 5)]


def test_times_are_scaled_or_made_anew(tmp_path: Path) -> None:
    trace = written(tmp_path / "trace", line(0, 5, [3]), line(8_000, 5, [3]), line(4_000, 5, [3]))
    at_a_rate = mooncake.read(trace, arrivals=Arrivals(rate=2))
    one, other = ([each.arrival for each in at_a_rate.requests(seed)] for seed in (1, 2))
    assert one == sorted(one) == [each.arrival for each in at_a_rate.requests(1)] != other
    written(trace, line(0, 5, [3]), line(8_000, 5, [3]))
    faster = mooncake.read(trace, arrivals=Arrivals(speed=4))
    assert [each.arrival for each in faster.requests(0)] == [0.0, 2.0]


def test_a_trace_is_repeated_with_blocks_and_conversations_of_its_own(tmp_path: Path) -> None:
    """Three times; the lines are 2 s apart, so the next time begins 2 s after the last line."""
    lines = [line(1_000, 600, [0, 7]), line(3_000, 600, [0, 2]), line(5_000, 600, [0, 9])]
    trace = written(tmp_path / "trace", *lines)
    made = mooncake.read(trace, repeat=3)
    found = list(made.requests(0))
    assert [each.arrival for each in found] == [1, 3, 5, 7, 9, 11, 13, 15, 17]
    once = hits(mooncake.read(trace).requests(0))
    assert hits(found) == (3 * once[0], 3 * once[1]) == (6, 18)
    assert [each.session for each in found] == ["0-1"] * 3 + ["1-1"] * 3 + ["2-1"] * 3
    assert made.assumed[-1] == ("the trace is played 3 times in a row, with other blocks each time")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"timestamp": 0}', "line 2: is none of a trace (Object missing required field"),
        (b"hello", "line 2: is none of a trace (JSON is malformed"),
        (b"\xff\xfe", "line 2: is none of a trace ("),
        (json.dumps(line(-1, 5, [1])).encode(), "line 2: is none of a trace (Expected `float`"),
        (json.dumps(line(0, 0, [])).encode(), "line 2: is none of a trace (Expected `int` >= 1"),
        (
            json.dumps(line(0, 1_200, [1, 2])).encode(),
            "line 2: 1,200 tokens make 3 blocks of 512, but there are 2 hash_ids",
        ),
        (json.dumps(line(5, 5, [1])).encode(), "line 2: arrives before the line above it"),
    ],
)
def test_a_line_that_is_none_is_named(content: bytes, said: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_bytes(json.dumps(line(9, 5, [3])).encode() + b"\n" + content + b"\n")
    made = mooncake.read(trace)
    with pytest.raises(InputError) as raised:
        list(made.requests(0))
    assert str(raised.value).startswith(f"{trace}: {said}")
    assert raised.value.remedy


def test_what_is_no_trace_is_refused_at_once(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"\n")
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(json.dumps(line(0, 5, [3])).encode())[:-9])
    for path, said in (
        (tmp_path / "none", "cannot be read (No such file or directory)"),
        (tmp_path, "cannot be read (Is a directory)"),
        (empty, "holds no requests"),
        (cut, "cannot be read (a damaged gzip file)"),
    ):
        with pytest.raises(InputError, match=re.escape(said)) as raised:
            mooncake.read(path)
        assert raised.value.where == str(path)
    with pytest.raises(UsageError, match="block must be 1 or more, not 0"):
        mooncake.read(empty, block=0)
    with pytest.raises(UsageError, match="repeat must be 1 or more, not -1"):
        mooncake.read(empty, repeat=-1)


@st.composite
def requests(draw: st.DrawFn) -> list[Request]:
    """Requests at whole milliseconds, whose keys name all that stands before them."""
    block = 4
    made, time = [], 0
    for _ in range(draw(st.integers(1, 12))):
        time += draw(st.integers(0, 5_000))
        tokens = draw(st.lists(st.integers(0, 1), min_size=1, max_size=40))
        keys = [hash(tuple(tokens[: end + block])) for end in range(0, len(tokens), block)]
        output = draw(st.integers(0, 9))
        made.append(Request(time / 1000, "x", tuple(keys), len(tokens), output))
    return made


def isomorphic(a: list[Request], b: list[Request]) -> bool:
    """Whether the blocks of requests differ in their names alone."""
    pairs = {
        pair
        for one, other in zip(a, b, strict=True)
        for pair in zip(one.blocks, other.blocks, strict=True)
    }
    return len(pairs) == len({x for x, _ in pairs}) == len({y for _, y in pairs})


@given(made=requests())
def test_what_was_written_is_read_again(
    made: list[Request], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    plan = Workload("made-up", Scale(4), lambda _: iter(made))
    assert mooncake.write(plan, path, block=4) == len(made)
    again = mooncake.read(path, block=4)
    found = list(again.requests(0))
    assert [(a.arrival, a.input_tokens, a.output_tokens) for a in found] == [
        (a.arrival, a.input_tokens, a.output_tokens) for a in made
    ]
    assert isomorphic(made, found)
    assert hits(found) == hits(made)
    # Ids count from 0, so that a second time nothing changes.
    first = path.read_bytes()
    mooncake.write(again, path, block=4)
    assert path.read_bytes() == first


@given(made=requests(), times=st.integers(1, 5))
def test_blocks_become_larger_ones(
    made: list[Request], times: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    mooncake.write(Workload("made-up", Scale(4), lambda _: iter(made)), path, block=4 * times)
    found = list(mooncake.read(path, block=4 * times).requests(0))
    large = [
        replace(
            each,
            blocks=tuple(
                each.blocks[min(at + times, len(each.blocks)) - 1]
                for at in range(0, len(each.blocks), times)
            ),
        )
        for each in made
    ]
    assert isomorphic(large, found)


def test_a_trace_tells_nothing_but_lengths_and_what_is_alike(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("an old one")
    path.chmod(0o644)
    one = Request(0.0, "secret", (2**62, 77), 20, 3, kept=(2**62, 78))
    other = replace(one, arrival=1.0006, blocks=(2**62, 5, 77_000))
    plan = Workload("secret", Scale(16), lambda _: iter([one, replace(other, input_tokens=33)]))
    mooncake.write(plan, path, block=16)
    assert path.read_text() == (
        '{"timestamp":0,"input_length":20,"output_length":3,"hash_ids":[0,1]}\n'
        '{"timestamp":1001,"input_length":33,"output_length":3,"hash_ids":[0,2,3]}\n'
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.jsonl"]


def test_a_made_up_workload_is_written_in_blocks_of_512_and_packed(tmp_path: Path) -> None:
    plan = SharedPrefix(requests=3, rate=1, prefix_tokens=1_024, suffix_tokens=10).workload()
    one, other = tmp_path / "one.jsonl.gz", tmp_path / "other.jsonl.gz"
    mooncake.write(plan, one, seed=4)
    mooncake.write(plan, other, seed=4)
    assert one.read_bytes() == other.read_bytes()
    found = [each.blocks for each in mooncake.read(one).requests(0)]
    assert found == [(0, 1, 2), (0, 1, 3), (0, 1, 4)]


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    plan = SharedPrefix(requests=3, rate=1).workload()
    with pytest.raises(UsageError, match="blocks of 16 tokens cannot be made into blocks of 40"):
        mooncake.write(plan, tmp_path / "trace", block=40)
    with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
        mooncake.write(plan, tmp_path / "none" / "trace")
    with pytest.raises(UsageError, match="requests that wait for the end of others"):
        mooncake.write(Chats(chats=1, rate=1).workload(), tmp_path / "trace")
    assert list(tmp_path.iterdir()) == []
