import re
from datetime import date

import pytest

from cachediag.lint import support
from cachediag.lint.keywords import _KIND
from cachediag.lint.verdicts import DECODERS


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_table_is_dated_and_sourced_and_complete(decoder: str) -> None:
    made = support.table(decoder)
    assert made.decoder == decoder
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?", made.version)
    assert date.fromisoformat(made.date) <= date(2100, 1, 1)
    assert made.sources
    assert all(each.startswith("https://") for each in made.sources)
    # Every keyword that constrains a value is said something of.
    assert made.keywords.keys() >= {*_KIND, "type", "enum", "const", "anyOf", "oneOf", "allOf"}
    assert made.keywords.keys() >= {"not", "if", "then", "else", "$ref", "$dynamicRef"}
    for name, each in made.keywords.items():
        assert each.status in {"supported", "partly", "ignored", "rejected"}
        assert bool(each.note) or each.status != "partly" or name == "format", name


def test_what_the_tables_say_of_a_few() -> None:
    assert support.table("xgrammar").keywords["uniqueItems"].status == "ignored"
    assert support.table("llguidance").keywords["uniqueItems"].status == "rejected"
    assert "minimum" in support.table("outlines").named("ignored")
    assert "uuid" in support.table("xgrammar").formats
