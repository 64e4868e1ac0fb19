"""`cachediag analyze` over many sessions."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from cachediag import extras
from cachediag.batch import run
from tests.batch.material import folder_of_bodies, store
from tests.cli.running import ran

ROOT = Path(__file__).parents[2]
BY = ("--profile", "vllm-mlx@0.2.6", "--model", "qwen2.5")


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three sessions, in a folder of the working directory."""
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        store(tmp_path / "runs" / f"{number}.cachediag", number)
    return tmp_path / "runs"


def test_several_are_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    each = [
        json.loads(ran(capsys, "analyze", f"runs/{n}.cachediag", *BY, "--format", "json").out)
        for n in range(3)
    ]
    done = ran(capsys, "analyze", "runs", "--workers", "1", *BY, "--format", "json")
    assert (done.code, done.err) == (0, "")
    made = json.loads(done.out)
    for key in ("requests", "prompt_tokens", "reused_tokens", "avoidable_tokens"):
        assert made["totals"][key] == sum(one["totals"][key] for one in each)
    lost: dict[str | None, int] = {}
    for one in each:
        for cause in one["causes"]:
            lost[cause["code"]] = lost.get(cause["code"], 0) + cause["tokens_lost"]
    assert {cause["code"]: cause["tokens_lost"] for cause in made["causes"]} == lost
    assert (made["failed"], made["rows"]) == ([], None)


def test_two_workers_say_and_write_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = []
    for workers in (1, 2):
        words = ("analyze", "runs", "--workers", workers, "-o", "rows.parquet", *BY)
        done = ran(capsys, *words, "--format", "json")
        assert (done.code, done.err) == (0, "")
        made.append((done.out, (tmp_path / "rows.parquet").read_bytes()))
        (tmp_path / "rows.parquet").rename(tmp_path / f"{workers}.parquet")
    assert made[0] == made[1]
    table = pq.read_table(tmp_path / "1.parquet")
    sessions = [f"runs/{n}.cachediag" for n in range(3) for _ in range(n % 3 + 3)]
    assert table["session"].to_pylist() == sessions


def test_one_that_fails_is_reported_and_the_rest_is_written(
    capsys: pytest.CaptureFixture[str], runs: Path, tmp_path: Path
) -> None:
    path = runs / "1.cachediag"
    path.write_bytes(path.read_bytes()[:5_000])
    done = ran(capsys, "analyze", "runs", "--workers", "1", "-o", "rows", *BY)
    assert done.code == 2
    assert "1 of 3 sessions could not be analysed\n  runs/1.cachediag: the session is" in done.out
    assert "A row a request is in rows." in done.out
    assert pq.read_table(tmp_path / "rows").num_rows == 3 + 5


def test_one_session_is_reported_as_ever(
    capsys: pytest.CaptureFixture[str], runs: Path, tmp_path: Path
) -> None:
    expected = ran(capsys, "analyze", "runs/0.cachediag", *BY).out
    assert expected.startswith("0   3 requests")
    (runs / "1.cachediag").unlink()
    (runs / "2.cachediag").unlink()
    # A folder in which there is one, and a glob that one matches, mean that one.
    for given in ("runs", "runs/*.cachediag"):
        assert ran(capsys, "analyze", given, *BY).out == expected
    named = ran(capsys, "analyze", (runs / "0.cachediag").as_uri(), *BY).out
    assert named == expected.replace("runs/0", f"{runs}/0")
    bodies = ran(capsys, "analyze", folder_of_bodies(tmp_path / "bodies"), *BY)
    assert bodies.out.startswith("bodies   3 requests")


def test_one_session_as_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    done = ran(capsys, "analyze", "runs/0.cachediag", "-o", "rows.parquet", *BY)
    assert done.code == 0
    assert done.out.startswith("1 session   3 requests")
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 3


def test_the_newest_recording_as_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store(tmp_path / "home" / "sessions" / "monday.cachediag", 2)
    assert ran(capsys, "analyze", "-o", "rows.parquet", *BY).code == 0
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--watch",), "--watch: is for one session, and several are meant"),
        (("--lane", "main"), "--lane: is for one session, and several are meant"),
        (("--format", "csv"), "--format csv: a row a request of several sessions goes into"),
        (("--format", "jsonl"), "--format jsonl: a row a request of several sessions goes into"),
        (("--engine", "none-such"), "none-such"),
        (("--dask", "127.0.0.1:9"), "--dask 127.0.0.1:9: no Dask scheduler answers"),
        (("-o", "runs"), "runs: is there already"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple, said: str
) -> None:
    monkeypatch.setattr("cachediag.batch.workers._CONNECT_SECONDS", 1)
    done = ran(capsys, "analyze", "runs", *words)
    assert done.code == (3 if "--dask" in words else 2)
    assert done.out == ""
    assert said in done.err.splitlines()[0]
    assert "Traceback" not in done.err


def test_without_the_extra_several_sessions_are_analysed_by_one_process(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "has", lambda _: False)
    monkeypatch.setattr(run, "has", lambda _: False)
    done = ran(capsys, "analyze", "runs", *BY)
    assert done.code == 0
    assert done.out.startswith("3 sessions   12 requests")
    assert done.err == (
        "note: with one process, for Dask is not installed: pip install 'cachediag[fleet]'\n"
    )
    for words in (("--workers", "2"), ("-o", "rows.parquet"), ("s3://agents/a",)):
        done = ran(capsys, "analyze", "runs", *words, *BY)
        assert (done.code, done.out) == (2, "")
        assert done.err.splitlines()[-1].split() == [
            "Install",
            "it:",
            *extras.install("fleet").split(),
        ]


def test_what_is_passed_over_is_counted(capsys: pytest.CaptureFixture[str], runs: Path) -> None:
    (runs / "notes.txt").write_text("Remember the berths.", encoding="utf-8")
    done = ran(capsys, "analyze", "runs", "--workers", "1", *BY)
    assert (done.code, done.err) == (0, "note: 1 file in folders passed over\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_it_leaves_nothing_running_and_nothing_behind(
    runs: Path, tmp_path: Path, number: int, code: int
) -> None:
    content = (runs / "2.cachediag").read_bytes()
    for copy in range(400):
        (runs / f"copy-{copy}.cachediag").write_bytes(content)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ("analyze", "runs", "--workers", "2", "-o", "rows.parquet")
    process = subprocess.Popen(
        [sys.executable, "-m", "cachediag", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    me = psutil.Process(process.pid)
    deadline = time.monotonic() + 60
    # The forkserver, what tracks its resources, and two workers.
    while len(me.children(recursive=True)) < 4:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    begun = me.children(recursive=True)
    # As a terminal does: to all of them.
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, "", "")
    _, alive = psutil.wait_procs(begun, timeout=10)
    assert alive == []
    assert list(temporary.iterdir()) == []
    assert sorted(each.name for each in tmp_path.iterdir()) == ["runs", "temporary"]
