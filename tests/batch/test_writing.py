"""Parquet files: the same for the same rows, private, and there only once they are whole."""

import stat
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag import extras
from cachediag.batch.model import Counted, Failed
from cachediag.batch.rows import COLUMNS, schema
from cachediag.batch.writing import RowFile
from cachediag.errors import UsageError

EXAMPLES = {
    "string": "main",
    "int64": 7,
    "double": 0.5,
    "bool": True,
    "timestamp": 1_764_417_600_000_000,
    "list<string>": ["V01"],
    "list<int64>": [7],
}


def some(first: int, count: int) -> pa.Table:
    """So many rows, numbered on."""
    columns = {column.name: [EXAMPLES[column.type]] * count for column in COLUMNS}
    columns["index"] = list(range(first, first + count))
    return pa.table(columns, schema=schema())


def outcome(rows: pa.Table | None) -> Counted:
    return Counted(
        label="a",
        profile="generic",
        model="qwen3",
        engine="none",
        requests=0,
        uncounted=0,
        body_bytes=0,
        prompt_tokens=0,
        reused_tokens=0,
        avoidable_tokens=0,
        exact=True,
        avoidable_seconds=None,
        usd=None,
        avoidable_usd=None,
        priced_requests=0,
        prices_as_of=None,
        causes=(),
        rows=rows,
    )


def write(path: Path, sizes: list[int]) -> Path:
    first = 0
    with RowFile(path, group_rows=4, part_rows=8) as file:
        for size in sizes:
            file.add(outcome(some(first, size)))
            first += size
    return path


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(cuts=st.lists(st.integers(0, 21), max_size=6))
def test_what_is_written_depends_on_the_rows_alone(tmp_path: Path, cuts: list[int]) -> None:
    borders = [0, *sorted(cuts), 21]
    sizes = [end - start for start, end in pairwise(borders)]
    path, whole = tmp_path / "a.parquet", tmp_path / "whole.parquet"
    path.unlink(missing_ok=True)
    if not whole.exists():
        write(whole, [21])
    write(path, sizes)
    assert path.read_bytes() == whole.read_bytes()
    assert pq.read_table(path)["index"].to_pylist() == list(range(21))
    assert pq.ParquetFile(path).metadata.num_row_groups == 6


def test_a_folder_holds_parts_of_so_many_rows(tmp_path: Path) -> None:
    folder = write(tmp_path / "rows", [3, 10, 8])
    parts = sorted(folder.iterdir())
    assert [part.name for part in parts] == [f"part-0000{n}.parquet" for n in range(3)]
    assert [pq.read_metadata(part).num_rows for part in parts] == [8, 8, 5]
    assert ds.dataset(folder).to_table()["index"].to_pylist() == list(range(21))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(part.stat().st_mode) for part in parts} == {0o600}
    assert [each.name for each in tmp_path.iterdir()] == ["rows"]


def test_a_part_that_is_full_at_the_end_is_followed_by_none(tmp_path: Path) -> None:
    assert len(list(write(tmp_path / "rows", [16]).iterdir())) == 2


def test_a_file_is_private_and_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.pq", [5])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["rows.pq"]


def test_without_rows_there_are_the_columns(tmp_path: Path) -> None:
    with RowFile(tmp_path / "a.parquet") as file:
        file.add(Failed("b", "cannot be read"))
        file.add(outcome(None))
    table = pq.read_table(tmp_path / "a.parquet")
    assert (table.num_rows, table.schema.names) == (0, [column.name for column in COLUMNS])
    assert table.schema.equals(schema())


def test_a_run_that_is_broken_off_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with RowFile(tmp_path / "a.parquet", group_rows=2) as file:
            file.add(outcome(some(0, 5)))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"theirs")
    with pytest.raises(UsageError, match="is there already"):
        RowFile(tmp_path / "a.parquet")
    with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
        RowFile(tmp_path / "none" / "a.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == b"theirs"


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "has", lambda _: False)
    with pytest.raises(UsageError, match="needs pyarrow, which is not installed") as raised:
        RowFile(tmp_path / "a.parquet")
    assert raised.value.remedy == "Install it: pip install 'cachediag[fleet]'"
    assert list(tmp_path.iterdir()) == []
