"""The page that describes the format is held against the format."""

import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from cachediag.session import Session
from cachediag.session.schema import APPLICATION_ID, FORMAT

from .recording_writer import exchange

PAGE = (Path(__file__).parents[2] / "docs" / "session-format.md").read_text()


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.cachediag"
    with Session.create(made) as session:
        for number in range(40):
            session.append(exchange(number))
    return made


def schema(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return dict(rows.fetchall())


def test_the_tables_are_those_of_the_page(path: Path) -> None:
    real, described = sqlite3.connect(path), sqlite3.connect(":memory:")
    described.executescript(block("sql"))
    assert schema(real) == schema(described)
    real.close()
    described.close()


def test_every_column_is_described(path: Path) -> None:
    connection = sqlite3.connect(path)
    for table in ("bodies", "exchanges"):
        section = PAGE.split(f"### {table}\n")[1].split("\n#")[0]
        described = set(re.findall(r"`(\w+)`", section))
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        assert columns - {"id"} <= described
    connection.close()


def test_the_header_is_where_the_page_says(path: Path) -> None:
    head = path.read_bytes()[:100]
    rows = re.findall(r"^\| (\d+) \| (\d+)[^|]*\| (.*) \|$", PAGE, re.MULTILINE)
    assert [(int(offset), int(size)) for offset, size, _ in rows] == [(0, 16), (60, 4), (68, 4)]
    assert head[0:16] == b"SQLite format 3\0"
    assert int.from_bytes(head[60:64], "big") == FORMAT
    assert int.from_bytes(head[68:72], "big") == APPLICATION_ID
    assert f"now {FORMAT} " in rows[1][2] + " "
    assert f"`{APPLICATION_ID:#x}`" in rows[2][2]


def test_the_program_of_the_page_reads_a_session(path: Path) -> None:
    names: dict[str, object] = {}
    exec(block("python"), names)
    got = list(names["read_requests"](path))  # type: ignore[operator]
    assert got == [(n, "/v1/messages", exchange(n).request) for n in range(40)]


@pytest.mark.skipif(not shutil.which("zstd"), reason="no zstd program here")
def test_the_zstd_program_reads_a_delta(path: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(path)
    full, delta, base_size = connection.execute(
        "SELECT b.data, d.data, b.size FROM bodies d JOIN bodies b ON d.base = b.id"
        " WHERE b.depth = 0 LIMIT 1"
    ).fetchone()
    (digest,) = connection.execute("SELECT sha256 FROM bodies WHERE data = ?", (delta,)).fetchone()
    connection.close()
    (tmp_path / "5.zst").write_bytes(full)
    (tmp_path / "7.zst").write_bytes(delta)
    for line in block("sh").splitlines():
        if line.startswith("zstd"):
            subprocess.run(line.split(), cwd=tmp_path, check=True, capture_output=True)
    import hashlib

    assert (tmp_path / "5.json").stat().st_size == base_size
    assert hashlib.sha256((tmp_path / "7.json").read_bytes()).digest() == digest
