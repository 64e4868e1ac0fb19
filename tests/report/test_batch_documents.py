"""`cachediag.batch/1`."""

from dataclasses import replace

from cachediag.batch.model import Failed
from cachediag.report.batch_documents import batch
from tests.batch.test_summary import A, B, tallied


def test_the_document() -> None:
    made = batch(tallied(A, Failed("c", "cannot be read"), B), "rows.parquet")
    assert (made["schema"], made["rows"], made["exact"]) == (
        "cachediag.batch/1",
        "rows.parquet",
        False,
    )
    assert made["totals"]["sessions"] == 2
    assert made["totals"]["failed"] == 1
    assert made["totals"]["partly_read"] == 1
    assert made["totals"]["hit_rate_ceiling"] == 0.8125
    assert made["counted_by"][0] == {
        "profile": "anthropic",
        "model": "claude",
        "engine": "anthropic",
        "sessions": 1,
    }
    assert [(cause["code"], cause["tokens_lost"]) for cause in made["causes"]] == [
        ("S04", 200),
        ("V01", 150),
        (None, 100),
    ]
    assert (
        sum(cause["tokens_lost"] for cause in made["causes"])
        == (made["totals"]["avoidable_tokens"])
    )
    assert [(each["session"], each["code"]) for each in made["worst"]] == [
        ("b", "S04"),
        ("a", "V01"),
    ]
    assert made["failed"] == [{"session": "c", "reason": "cannot be read", "remedy": None}]


def test_the_engines_design_has_no_code() -> None:
    design = replace(A, causes=(replace(A.causes[0], code="-", path=None),))
    made = batch(tallied(design), None)
    assert made["rows"] is None
    assert made["worst"][0]["code"] is made["causes"][0]["code"] is None
