import json
from pathlib import Path

import pytest

from peers.case import CASES, bare, fits, load


@pytest.mark.parametrize(
    ("told", "path"),
    [
        ("system", "system[0].text"),
        ("system[0]", "system[0].text"),
        ("system[0].text", "system[0].text"),
        ("tools[3].description", "tools"),
        ("messages[2]", "messages"),
    ],
)
def test_a_place_fits_as_far_as_it_is_told(told: str, path: str) -> None:
    assert fits(told, path)
    assert fits(path, told)


@pytest.mark.parametrize(
    ("told", "path"),
    [
        ("system[1]", "system[0].text"),
        ("messages[1]", "messages[10]"),
        ("messages[1].content[0]", "messages[1].content[1]"),
        ("tool", "tools"),
        ("messages[0]", "system[0]"),
    ],
)
def test_another_place_does_not_fit(told: str, path: str) -> None:
    assert not fits(told, path)
    assert not fits(path, told)


def test_every_case_is_read() -> None:
    cases = load()
    assert [case.name for case in cases] == sorted(path.name for path in CASES.iterdir())
    by_name = {case.name: case for case in cases}
    pair = by_name["many-header-and-snapshot"]
    assert pair.causes == {
        "V01": ("system[0].text",),
        "V05": ("system[3].text",),
        "M06": ("system[3]",),
    }
    assert (pair.played, len(pair.bodies)) == (False, 2)
    session = by_name["p02-other-lane"]
    assert session.causes == {"P02": ()}
    assert (session.played, [path.name for path in session.files]) == (
        True,
        ["a.json", "b.json", "c.json"],
    )


def test_a_bare_case_has_no_markers_and_is_else_the_same(tmp_path: Path) -> None:
    (case,) = (case for case in load() if case.name == "n01-tool-loop")
    made = bare(case, tmp_path)
    assert "cache_control" in json.dumps(case.bodies)
    assert "cache_control" not in json.dumps(made.bodies)
    assert made.bodies[0]["tools"] == case.bodies[0]["tools"]
    assert [m["role"] for m in made.bodies[1]["messages"]] == [
        m["role"] for m in case.bodies[1]["messages"]
    ]
    assert made.causes == case.causes
