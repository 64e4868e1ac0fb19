"""The pages show what the commands print, and their links lead somewhere."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = runpy.run_path(str(ROOT / "docs" / "generate_examples.py"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("path", EXAMPLES["PAGES"], ids=lambda path: path.name)
def test_examples_are_not_stale(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "\n$ cachediag " in text
    assert text == EXAMPLES["refreshed"](text), "write them anew: nox -s docs"


@pytest.mark.parametrize("path", EXAMPLES["PICTURES"], ids=lambda path: path.name)
def test_pictures_are_not_stale_and_load_nothing(path: Path) -> None:
    picture = path.read_text(encoding="utf-8")
    assert picture == EXAMPLES["drawn"](EXAMPLES["PICTURES"][path]), "draw them anew: nox -s docs"
    assert re.findall(r"https?://[^\s\"]+", picture) == ["http://www.w3.org/2000/svg"]
    assert not re.findall(r"url\((?!#)|@import|href|<script", picture)
    ET.fromstring(picture)


@pytest.mark.parametrize(
    ("page", "picture"),
    [("README.md", "docs/images/diff.svg"), ("docs/index.md", "images/diff.svg")],
)
def test_the_picture_stands_at_the_top(page: str, picture: str) -> None:
    top = (ROOT / page).read_text(encoding="utf-8").partition("```")[0]
    assert f"]({picture})" in top


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8"))
    # The findings' pages are put there when the site is built.
    generated = {ROOT / "docs" / "findings" / "index.md"} | {
        ROOT / "docs" / "findings" / page.name
        for page in (ROOT / "cachediag" / "findings").glob("*.md")
    }
    places = {(path.parent / target).resolve() for target in targets}
    assert {place for place in places if not place.exists()} <= generated


def test_the_architecture_names_every_package_and_no_file_that_is_not_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z0-9_]+/[a-zA-Z0-9_./-]*)`", page))
    assert len(named) > 60
    lost = {
        name
        for name in named
        if not any((base / name).exists() for base in (ROOT, ROOT / "cachediag"))
    }
    # Where the scripts are in an installed package; CODE is any.
    assert lost == {"cachediag/addons/", "cachediag/findings/CODE.md"}
    packages = {path.parent.name for path in (ROOT / "cachediag").glob("*/__init__.py")}
    assert packages <= set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) | {"findings"}
    assert "`findings/`" in page
