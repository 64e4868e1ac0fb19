"""Many sessions in a terminal."""

from dataclasses import replace

from cachediag.batch.model import Failed
from cachediag.report.batch import BatchReport
from tests.batch.test_summary import A, B, tallied
from tests.report.test_style import printed

FAILED = Failed("runs/c\x1b[2J", "the session is damaged or cut off", "Take it from a backup")


def test_the_sums_the_causes_the_worst_and_what_failed() -> None:
    made = tallied(replace(A, label="runs/a b.cachediag"), B, FAILED)
    assert (
        printed(BatchReport(made, "rows.parquet", "--profile generic"))
        == """\
2 sessions   8 requests   2.0 kB of bodies   estimate
profile anthropic   tokens claude   cache anthropic   1 session
profile generic   tokens claude   cache sglang   1 session

hit rate 25.0%, could be 81.2%
input $1.50, could be $1.00

causes                            sessions   requests    tokens again   more USD
S04 earlier message edited  mes…         2          4             200      $0.12
V01 billing header  system[0].t…         1          3             150      $0.38
what engines do not keep                 1          4             100    unknown

costliest sessions                requests  hit rate  could be  tokens again
b                                        4     25.0%     87.5%           250
runs/a b.cachediag                       4     25.0%     75.0%           200

1 session could be read in part only
2 requests could not be counted
1 of 3 sessions could not be analysed
  runs/c\\e[2J: the session is damaged or cut off
    Take it from a backup

450 of 800 prompt tokens were prefilled again though they could be kept: at
least 2.0 s of waiting and $0.50 more than from the cache.
A row a request is in rows.parquet.

next   cachediag analyze b --profile generic   the costliest, request by request
       cachediag explain S04                   what it is, and what to do
"""
    )


def test_one_session_of_a_store_that_loses_nothing() -> None:
    fine = replace(
        A, label="s3://agents/a.cachediag", avoidable_tokens=0, causes=(), uncounted=0, exact=True
    )
    lines = printed(BatchReport(tallied(fine))).splitlines()
    assert lines[0] == "1 session   4 requests   1.0 kB of bodies   exact"
    assert lines[1] == "profile anthropic   tokens claude   cache anthropic"
    assert lines[-1] == "Nothing was prefilled again that had been seen before."
    assert not any(line.startswith(("costliest", "next", "causes")) for line in lines)


def test_where_all_failed_nothing_is_said_of_rates() -> None:
    assert printed(BatchReport(tallied(FAILED))).splitlines() == [
        "1 of 1 session could not be analysed",
        "  runs/c\\e[2J: the session is damaged or cut off",
        "    Take it from a backup",
        "",
    ]


def test_a_session_of_a_store_is_no_argument_for_the_next_command() -> None:
    report = printed(BatchReport(tallied(replace(A, label="s3://agents/a.cachediag"))))
    assert report.endswith("next   cachediag explain V01   what it is, and what to do\n")


def test_every_line_fits_80_columns() -> None:
    long = replace(A, label="recordings/" + "very-" * 20 + "long.cachediag")
    report = printed(BatchReport(tallied(long, B, replace(long, label="x" * 200))))
    assert all(len(line) <= 80 for line in report.splitlines())
    assert "…" in report


def test_a_long_list_is_cut() -> None:
    failed = [Failed(str(number), "cannot be read") for number in range(25)]
    lines = printed(BatchReport(tallied(A, *failed))).splitlines()
    assert "25 of 26 sessions could not be analysed" in lines
    assert "  and 5 more, in --format json" in lines


def test_a_wait_too_short_to_show_is_not_told() -> None:
    for seconds, told in ((0.04, "kept."), (0.06, "kept: 0.1 s of waiting.")):
        quick = replace(A, avoidable_seconds=seconds, avoidable_usd=None)
        lines = " ".join(printed(BatchReport(tallied(quick))).split())
        assert f"though they could be {told}" in lines
