import json
from pathlib import Path

import pytest

from cachediag.lint.linted import lint
from tests.lint.corpus import CORPUS
from tests.lint.sessions import messages, session, tool

OUTCOMES = json.loads((Path(__file__).parents[1] / "outcomes.json").read_text(encoding="utf-8"))
STALLED = {
    name
    for made in OUTCOMES.values()
    for name, outcome in made["outcomes"].items()
    if outcome == "stalls"
}


@pytest.mark.parametrize("name", sorted(STALLED))
def test_what_stalled_a_decoder_is_found(name: str) -> None:
    (entry,) = [each for each in CORPUS if each.name == name]
    found = {each.finding.code for each in lint(session(messages(tool(entry.schema)))).costly}
    assert found & {"G05", "G14"}


def test_bounds_and_lists_of_usual_size_are_not() -> None:
    schema = {"type": "array", "maxItems": 500, "items": {"enum": list(range(300))}}
    assert "G14" not in {each.finding.code for each in lint(session(messages(tool(schema)))).found}
