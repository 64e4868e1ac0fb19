"""What the live demo says of its recording, and how it ends."""

from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from cachediag.analysis.choice import Choice
from cachediag.demo.live.found import Found, find
from cachediag.demo.live.outcome import EndReport, FoundReport, document, introduction
from cachediag.demo.live.steps import LiveDemo
from tests.report.test_json_docs import below, documented, produced


@pytest.fixture
def found(session: Path, choice: Choice) -> Found:
    return find(session, choice, "qwen2.5")


def shown(report: RenderableType) -> str:
    console = Console(width=80, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(report)
    return captured.get()


def test_the_introduction_says_what_is_real_and_how_long_it_takes() -> None:
    said = introduction(LiveDemo(repeats=1, tokens=0))
    assert said.startswith("A made-up client talks to a real vllm-mlx 0.3.0 with a tiny model")
    assert "about 1 minute on two cores" in said
    assert introduction(LiveDemo(client="claude")).startswith("Claude Code plays a script")


def test_what_was_found_is_shown_with_its_evidence(found: Found) -> None:
    said = shown(FoundReport(found))
    assert said.startswith(f"demo-live   4 requests   prefix {found.prefix_tokens:,} tokens\n")
    assert said.count("✗ V01 billing header") == 4
    assert "request 0 → 1   vllm-mlx@0.3.0:strip=off   exact" in said
    assert "1 rule from it: strip-billing-header" in said
    assert max(map(len, said.splitlines())) <= 80


def test_the_end_names_commands_and_what_is_left() -> None:
    said = shown(EndReport("demo-live", LiveDemo(), Path("/home/sam/my cache/sandbox")))
    lines = said.splitlines()
    assert lines[0] == "next   cachediag analyze demo-live --model qwen2.5"
    assert lines[-1] == "Remove it with: rm -r '/home/sam/my cache/sandbox'"


def test_the_document_adds_what_its_page_says(found: Found) -> None:
    made = document({"schema": "cachediag.verify/1"}, found, "made-up")
    assert made["schema"] == "cachediag.verify/1"
    assert made["recording"] == {
        "client": "made-up",
        "requests": 4,
        "prompt_tokens": list(found.prompt_tokens),
        "prefix_tokens": found.prefix_tokens,
    }
    (finding,) = made["findings"]
    assert (finding["code"], finding["path"], finding["requests"]) == ("V01", "system[0].text", 3)
    (rule,) = made["rules"]
    assert (rule["id"], rule["finding"], rule["enabled"]) == ("strip-billing-header", "V01", True)
    assert rule["tokens_saved"] > 3 * found.prefix_tokens * 0.9
    assert set(produced(made)) == {"schema"} | documented("What the live demo adds") | below(
        "findings[]", documented("Findings")
    )
