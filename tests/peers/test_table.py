"""What docs/compared.md says of the tools is what the adapters say."""

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from peers.case import load
from peers.score import asked, score
from peers.table import HEADINGS, rows, table
from peers.tools import TOOLS

PAGE = (Path(__file__).parents[2] / "docs" / "compared.md").read_text(encoding="utf-8")


def _tables() -> list[list[list[str]]]:
    """Each table of the page: its lines, the rule under the headings left out, as cells."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE)
    return [
        [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in block.splitlines()
            if not set(line) <= set("|-: ")
        ]
        for block in blocks
    ]


(SCORES,) = [made[1:] for made in _tables() if tuple(made[0]) == HEADINGS]
BY_TOOL = {re.sub(r"\[(.*?)\].*", r"\1", row[0]): row for row in SCORES}


def test_the_page_has_a_row_for_each_tool_in_order() -> None:
    assert list(BY_TOOL) == [tool.name for tool in TOOLS]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_a_row_says_without_any_tool_run(tool) -> None:
    row = dict(zip(HEADINGS, BY_TOOL[tool.name], strict=True))
    questions = asked(tool, load())
    causes = sum(bool(each.causes) for each in questions)
    quiet = sum(each.quiet for each in questions)
    placeable = sum(any(each.case.causes[code] for code in each.causes) for each in questions)
    assert row["version"] == tool.version
    assert row["words"] == str(sum(1 for codes in tool.words.values() if codes))
    assert row["cases with a cause"] == str(causes)
    assert row["near-misses"] == str(quiet)
    placed, all_of_them = map(int, row["place right"].split(" of "))
    assert all_of_them == placeable
    assert placed <= int(row["found"]) <= causes
    assert int(row["false alarms"]) <= quiet
    assert (row["without markers"] == "") == tool.markers


@pytest.mark.parametrize("tool", [t for t in TOOLS if t.name != "cachediag"], ids=lambda t: t.name)
def test_the_page_shows_what_each_word_is_taken_for(tool) -> None:
    (shown,) = [
        {re.sub("`", "", word): codes for word, codes in made[1:]}
        for made in _tables()
        if made[0] == [tool.name, "taken for"]
    ]
    assert shown == {
        word: " ".join(codes).replace("-", "a cause that no case has") if codes else "no alarm"
        for word, codes in tool.words.items()
    }


def test_the_page_links_each_tool_to_its_page() -> None:
    for tool in TOOLS[1:]:
        assert f"https://pypi.org/project/{tool.name}/{tool.version}/" in PAGE


def test_a_score_is_a_row_and_is_printed() -> None:
    made = rows([score(TOOLS[0], []), score(TOOLS[2], [])], [0.5, 0.1])
    assert [line[:2] for line in made] == [
        ("cachediag", TOOLS[0].version),
        ("ctxdiff", "0.5.1"),
    ]
    assert [line[-1] for line in made] == ["1.0 ×", "0.2 ×"]
    assert [line[8] for line in made] == ["", "0"]
    console = Console(width=140, record=True, file=StringIO())
    console.print(table(made))
    assert "ctxdiff" in console.export_text()
