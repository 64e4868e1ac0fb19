"""Every page is complete, consistent, and says nothing of a finding that does not exist."""

import re
from pathlib import Path

import pytest

import cachediag.findings
from cachediag.errors import UsageError
from cachediag.findings import all_codes, load
from cachediag.rules.making.proposals import PROPOSALS

_CODES = (
    *("V01", "V02", "V03", "V04", "V05", "V06"),
    *("O01", "O02", "O03"),
    *("S01", "S02", "S03", "S04", "S05", "S06", "S07", "S08", "S09", "S10"),
    "S11",
    *("E01", "E02", "E03", "E04", "E05"),
    *("M01", "M02", "M03", "M04", "M05", "M06"),
    *("P01", "P02", "P03", "P04", "P05", "P06"),
    *("G01", "G02", "G03", "G04", "G05", "G06", "G07", "G08", "G09", "G10"),
    *("G11", "G12", "G13", "G14"),
    *("N01", "N02", "N03"),
)
_INFO = {"E03", "M01", "N01", "N02", "N03", "G01", "G02", "G03", "G04", "G06"}
_COST = {code for code in _CODES if code[0] in "MPG" and code not in _INFO} | {"E05"}
_HEADINGS = [
    "What it is",
    "Why it costs",
    "How it is told",
    "What it is not",
    "What to do",
    "Public reports",
    "Example",
]
_REPORT = re.compile(r"[\w.-]+/[\w.-]+#\d+")


def test_the_catalogue_holds_the_codes_in_its_order() -> None:
    assert all_codes() == _CODES


def test_each_page_is_beside_the_module_and_nothing_else_is() -> None:
    pages = {path.name for path in Path(cachediag.findings.__file__).parent.glob("*.md")}
    assert pages == {f"{code}.md" for code in _CODES}


@pytest.mark.parametrize("code", _CODES)
def test_front_matter(code: str) -> None:
    page = load(code)
    assert page.code == code
    assert page.severity == ("info" if code in _INFO else "cost" if code in _COST else "break")
    assert re.fullmatch(r"\S.{4,38}\S", page.title)
    assert "\n" not in page.fix
    assert len(page.fix) <= 64, "the fix must fit into a line of 80 columns beside its label"
    # A schema can be written better even where that costs nothing yet.
    assert bool(page.fix) == (page.severity != "info" or code[0] == "G")


@pytest.mark.parametrize("code", _CODES)
def test_sections(code: str) -> None:
    page = load(code)
    headings = re.findall(r"^## (.+)$", page.text, re.MULTILINE)
    assert headings == [h for h in _HEADINGS if h != "Public reports" or h in headings]
    bodies = re.split(r"^## .+$", page.text, flags=re.MULTILINE)
    assert bodies[0] == ""
    assert all(body.strip() for body in bodies[1:])
    assert all(len(line) <= 100 for line in page.text.splitlines())


@pytest.mark.parametrize("code", _CODES)
def test_the_example_is_one_fenced_block(code: str) -> None:
    example = load(code).text.split("## Example\n")[1]
    assert re.fullmatch(r"\n```(diff)?\n(?s:.+)\n```\n", example)


@pytest.mark.parametrize("code", _CODES)
def test_reports_are_named_in_full(code: str) -> None:
    text = load(code).text
    if "## Public reports" not in text:
        return
    listed = text.split("## Public reports\n")[1].split("## Example")[0].strip().splitlines()
    assert all(line.startswith("- ") and _REPORT.match(line[2:]) for line in listed)


@pytest.mark.parametrize("code", _CODES)
def test_no_page_names_a_finding_without_a_page(code: str) -> None:
    named = set(re.findall(r"\b[VOSEMPGN]\d\d\b", load(code).text))
    assert named <= set(_CODES)
    assert code not in named, "a page does not refer to itself"


def test_titles_are_unique() -> None:
    titles = [load(code).title for code in _CODES]
    assert len(set(titles)) == len(titles)


def test_the_billing_header_page() -> None:
    page = load("V01")
    assert page.title == "billing header"
    assert page.fix == "CLAUDE_CODE_ATTRIBUTION_HEADER=0"
    assert page.text.startswith("## What it is\n\nA line that begins with")


@pytest.mark.parametrize("spelling", ["v01", " V01 ", "V01\n"])
def test_a_code_is_found_in_either_case(spelling: str) -> None:
    assert load(spelling) is load("V01")


def test_an_unknown_code_names_the_near_ones() -> None:
    with pytest.raises(UsageError, match="no finding has the code 'V07'") as caught:
        load("V07")
    assert caught.value.exit_code == 2
    assert caught.value.remedy is not None
    assert caught.value.remedy.startswith("Did you mean V0")
    assert caught.value.remedy.endswith("List them all: cachediag explain")


@pytest.mark.parametrize(
    ("word", "named"), [("billing", "Did you mean V01? "), ("e", ""), ("", "")]
)
def test_a_word_of_a_title_leads_to_its_code(word: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(word)
    assert caught.value.remedy == f"{named}List them all: cachediag explain"


def test_nonsense_is_near_nothing() -> None:
    with pytest.raises(UsageError) as caught:
        load("../../etc/passwd")
    assert caught.value.remedy == "List them all: cachediag explain"


def test_a_page_says_where_rules_help() -> None:
    assert {code for code in _CODES if load(code).rule} == set(PROPOSALS)
