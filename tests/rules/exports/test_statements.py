"""What a module is made of."""

import pytest

from cachediag.rules.exports import statements
from cachediag.rules.exports.statements import Module

SOURCE = '''\
"""A docstring."""
import re
from os import path as place
from cachediag import made_b
from cachediag.made_b import thing as other

# One.
@staticmethod
def ätsch(given: "One | other") -> "list[One]":
    return made_b.some, other, ätsch

class One:
    size: int = 3


TWO, (THREE, *FOUR) = 1, (2, 3)
"""Below."""
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setattr(statements, "_ROOT", tmp_path)
    (tmp_path / "made_a.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "made_b.py").write_text("thing = some = 1\n", encoding="utf-8")
    return Module("cachediag.made_a")


def test_statements_have_their_comments_and_texts(module):
    texts = [b"".join(module.lines[each.first : each.end]).decode() for each in module.statements]
    lines = SOURCE.splitlines(keepends=True)
    assert texts == ["".join(lines[5:10]), "".join(lines[10:13]), "".join(lines[13:])]
    assert [sorted(each.names) for each in module.statements] == [
        ["ätsch"],
        ["One"],
        ["FOUR", "THREE", "TWO"],
    ]
    assert [each.bound for each in module.statements] == [{"given"}, {"size"}, set()]


def test_references_stand_where_they_are_spelled(module):
    found = {
        (each.name, module.lines[each.line][each.start : each.end].decode(), each.module)
        for statement in module.statements[:1]
        for each in statement.references
    }
    assert found == {
        ("ätsch", "ätsch", "cachediag.made_a"),
        ("One", "One", "cachediag.made_a"),
        ("thing", "other", "cachediag.made_b"),
        ("some", "made_b.some", "cachediag.made_b"),
    }
    assert len([each for each in module.statements[0].references if each.name == "thing"]) == 2
    assert [each.name for each in module.statements[0].references if each.by_module] == ["some"]


def test_what_it_imports(module):
    assert module.needs == {"cachediag.made_b"}
    assert module.others == {"re": ("", "re"), "place": ("os", "path as place")}
