"""The rows: their columns, and what stands in them."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from cachediag.analysis.analyze import Analysis, analyse, summarise
from cachediag.analysis.choice import choose
from cachediag.batch import rows
from cachediag.model import Usage
from tests.analysis.sessions import recorded, reporting
from tests.batch.material import exchanges

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "many-sessions.md"


def made(profile: str | None = "vllm-mlx@0.2.6") -> Analysis:
    sent = exchanges(1)
    choice = choose("messages", profile_spec=profile)
    return summarise(analyse(sent, sent.__getitem__, choice), choice)


def test_the_columns_are_those_of_the_page() -> None:
    lines = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    documented = [(name, told.strip()) for name, told in lines]
    assert documented == [
        (column.name, f"{column.type}, null" if column.nullable else column.type)
        for column in rows.COLUMNS
    ]


def test_a_row_says_what_the_analysis_says() -> None:
    analysis = made()
    table = rows.table("runs/a", analysis)
    assert table.schema == rows.schema()
    assert table.num_rows == len(analysis.requests) == 4
    for row, request in zip(table.to_pylist(), analysis.requests, strict=True):
        assert row["session"] == "runs/a"
        for name in ("lane", "kind", "parent", "prompt_tokens", "shared_tokens", "exact"):
            assert row[name] == getattr(request, name)
        parts = row["reused_tokens"], row["avoidable_tokens"], row["new_tokens"]
        assert parts == (request.reused_tokens, request.avoidable_tokens, request.new_tokens)
        assert sum(parts) == row["prompt_tokens"]
        assert sum(row["lost"]) == row["avoidable_tokens"]
        assert len(row["codes"]) == len(row["paths"]) == len(row["lost"])
        assert row["counted"]
        assert row["usd"] is None
    # The engine keeps nothing, which has no code; the header is what the second breaks on.
    second = table.to_pylist()[1]
    assert (second["codes"][0], second["paths"][0]) == ("V01", "system[0].text")
    assert [row["index"] for row in table.to_pylist()] == [0, 1, 2, 3]
    assert (second["profile"], second["engine"]) == ("vllm-mlx@0.2.6", "none")


def test_the_engines_design_has_no_code() -> None:
    sent = recorded([exchanges(1)[0].request] * 2)
    choice = choose("messages", profile_spec="vllm-mlx@0.2.6")
    analysis = summarise(analyse(sent, sent.__getitem__, choice), choice)
    (row,) = rows.table("a", analysis).to_pylist()[1:]
    assert (row["codes"], row["paths"]) == ([None], [None])
    assert row["lost"] == [row["avoidable_tokens"]]


def test_times_and_prices() -> None:
    told = datetime(2026, 11, 29, 12, 0, 0, 250_000, tzinfo=UTC)
    sent = [
        replace(each, info=replace(each.info, model="claude-sonnet-4-6", started=at))
        for each, at in zip(
            reporting(exchanges(1), {0: Usage(input_tokens=1)})[:3],
            (told.timestamp(), 1e300, float("nan")),
            strict=True,
        )
    ]
    choice = choose("messages")
    analysis = summarise(analyse(sent, sent.__getitem__, choice), choice)
    table = rows.table("a", analysis).to_pylist()
    assert [row["started"] for row in table] == [told, None, None]
    assert table[0]["model"] == "claude-sonnet-4-6"
    assert table[0]["usd"] == pytest.approx(analysis.costs[0].usd)
    assert table[0]["avoidable_usd"] == pytest.approx(analysis.costs[0].avoidable_usd)


def test_half_a_character_is_stored_as_an_escape() -> None:
    analysis = made()
    info = replace(analysis.requests[0].info, model="m\ud800")
    odd = replace(analysis, requests=(replace(analysis.requests[0], info=info),))
    (row,) = rows.table("runs/\udcff", odd).to_pylist()
    assert row["model"] == "m\\ud800"
    assert row["session"] == "runs/\\udcff"


def test_no_requests_make_a_table_with_the_same_columns() -> None:
    table = rows.table("a", replace(made(), requests=()))
    assert (table.num_rows, table.schema) == (0, rows.schema())
    assert isinstance(table, pa.Table)
