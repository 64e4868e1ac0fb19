"""An analysis in the terminal."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from cachediag.analysis.choice import choose
from cachediag.analysis.summary import Analysis, summarise
from cachediag.report.analysis import AnalysisReport, dollars
from tests.analysis.test_analysed import made

HEADER = "system[0].text"


def printed(report: AnalysisReport, width: int = 80) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(report)
    return file.getvalue()


def analysis(*blamed: tuple[str, str | None, int], spec: str = "anthropic") -> Analysis:
    """Two requests, the second of which pays for causes."""
    choice = choose(
        "messages", profile_spec=spec, tokenizer_spec="claude-opus-4-8", model_spec="qwen3"
    )
    second = replace(made(100_000, blamed=blamed, index=1), parent=0)
    return summarise([made(90_000), second], choice)


def conclusion(found: Analysis, given: str = "s", options: str = "") -> list[str]:
    text = printed(AnalysisReport(found, "s", given=given, options=options))
    return text.rstrip("\n").split("\n\n", 3)[-1].split("\n\n")


def test_what_is_lost_why_and_the_next_command() -> None:
    found = analysis(("V01", HEADER, 80_000), ("V05", "system[2].text", 400))
    lost, after = conclusion(found)[-2:]
    assert lost.splitlines()[-3:] == [
        "80,400 of 190,000 prompt tokens were prefilled again though they could be kept:",
        "$0.36 more than from the cache.",
        "V01, billing header in system[0].text, costs nearly all of them, in 1 request.",
    ]
    assert after.splitlines() == [
        "next   cachediag diff s --pair 0:1           see what changed",
        "       cachediag explain V01                 what it is, and what to do",
        "       cachediag rules new s -o rules.toml   write the rule that removes it",
    ]


def test_the_commonest_cause_is_whole_at_80_columns() -> None:
    text = printed(AnalysisReport(analysis(("V01", HEADER, 80_000)), "s"))
    (row,) = [line for line in text.splitlines() if line.startswith("  1  ")]
    assert row.endswith(" ✗ V01 system[0].text")
    assert len(row) == 80


def test_nothing_lost_is_said_in_a_sentence() -> None:
    lost, after = conclusion(analysis())[-2:]
    assert lost.endswith("Nothing was prefilled again that had been seen before.")
    assert after == "next   cachediag diff s   see what changed"


def test_an_engine_without_a_cache_is_shown_with_one() -> None:
    found = analysis(("-", None, 90_000), spec="vllm-mlx@0.3.0")
    lost, after = conclusion(found, options="--model qwen3")[-2:]
    assert "The engine keeps no prefix cache: that costs all of them, in 1 request." in lost
    assert after == ("next   cachediag analyze s --model qwen3 --engine conversation-slots:slots=4")


def test_an_engines_rule_is_explained() -> None:
    found = analysis(("P01", None, 50_000), ("V01", HEADER, 50_000), spec="vllm-mlx@0.6.0")
    lost, after = conclusion(found)[-2:]
    assert "\nP01, slot taken by another lane, costs 50% of them, in 1 request." in lost
    assert after == "next   cachediag explain P01   what it is, and what to do"


def test_what_two_requests_do_not_show_is_explained_alone() -> None:
    found = analysis(("S11", "messages[2].content", 80_000))
    lost, after = conclusion(found)[-2:]
    assert "\nS11, reply comes back changed in messages[2].content, costs all of them" in lost
    assert after == "next   cachediag explain S11   what it is, and what to do"


def test_a_command_is_never_cut() -> None:
    found = analysis(("V01", HEADER, 80_000))
    text = printed(AnalysisReport(found, "s", given="/a/very/long/path/" * 5))
    assert "…" not in text.split("next   ")[1]
    assert "".join(text.split()).endswith(f"rulesnew{'/a/very/long/path/' * 5}-orules.toml")


def test_causes_of_a_hosted_session_have_their_price() -> None:
    found = analysis(("V01", HEADER, 80_000), ("V05", "system[2].text", 4))
    text = printed(AnalysisReport(found, "s"))
    assert "input $0.95, could be $0.59\n" in text
    assert text.count("$0.36\n") == 1
    assert "  80,000       $0.36\n" in text
    assert "       4    <$0.0001\n" in text
    assert "\nmore than read from the cache, at prices of 2026-09\n" in text


def test_of_a_model_without_a_price_nothing_is_said() -> None:
    choice = choose("messages")
    unknown = made(9_000, blamed=(("V01", HEADER, 100),), model="made-up")
    text = printed(AnalysisReport(summarise([unknown], choice), "s"))
    assert "$" not in text
    assert "USD" not in text
    both = summarise(
        [
            made(9_000, blamed=(("V05", HEADER, 200),)),
            replace(unknown, info=replace(unknown.info, index=1)),
        ],
        choice,
    )
    text = printed(AnalysisReport(both, "s"))
    assert "  100     unknown\n" in text
    assert "at prices of 2026-09, known for 1 of 2 requests\n" in text


def test_below_the_requests_nothing_is_wider_than_eighty_columns() -> None:
    found = replace(analysis(("V01", HEADER, 80_000)), prefill_rate=217.0)
    text = printed(AnalysisReport(found, "s", given="s"), width=200)
    assert max(map(len, text[text.index("hit rate") :].splitlines())) <= 80


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (1_234.5, "$1,234.50"),
        (0.1, "$0.10"),
        (0.0042, "$0.0042"),
        (0.00001, "<$0.0001"),
        (0.0, "$0.00"),
    ],
)
def test_small_sums_have_more_digits(amount: float, told: str) -> None:
    assert dollars(amount) == told
