"""Every field is found on the line on which it stands."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.rules.file import write_rules
from cachediag.rules.format.lines import Lines, statements
from tests.rules.rulesets import RULESETS

DOCUMENT = """\
version = 1 # [[rule]]
# [[rule]]

[[rule]]
id = "a"
pattern = '''
[[rule]]
id = "b"
'''
  "value" = \"\"\"
\\\"\"\" [[rule]]
''' \"\"\"\"
seen = [
  "]", # ]
  '[',
]
by = "x"

[[ rule ]]
evidence.requests = 1
evidence.seen = []
id = 'c'
[rule.more]
deep = {a = {b = "}\\""}, c = 1}
[[rule.list]]
x = 1
[[rule.list]]
x = 2
y = 3
"""
EXPECTED: list[tuple[tuple[str | int, ...], int]] = [
    (("version",), 1),
    (("rule",), 4),
    (("rule", 0), 4),
    (("rule", 0, "id"), 5),
    (("rule", 0, "pattern"), 6),
    (("rule", 0, "value"), 10),
    (("rule", 0, "seen"), 13),
    (("rule", 0, "seen", 1), 13),
    (("rule", 0, "by"), 17),
    (("rule", 0, "absent"), 4),
    (("rule", 1), 19),
    (("rule", 1, "evidence"), 20),
    (("rule", 1, "evidence", "requests"), 20),
    (("rule", 1, "evidence", "seen"), 21),
    (("rule", 1, "id"), 22),
    (("rule", 1, "more"), 23),
    (("rule", 1, "more", "deep", "a", "b"), 24),
    (("rule", 1, "list", 0), 25),
    (("rule", 1, "list", 1), 27),
    (("rule", 1, "list", 1, "y"), 29),
    (("rule", 1, "list", 1, "z"), 27),
    (("absent",), 1),
]


@pytest.mark.parametrize(("path", "line"), EXPECTED)
def test_a_field_is_found(path: tuple[str | int, ...], line: int) -> None:
    assert Lines(DOCUMENT).of(path) == line


@given(RULESETS, st.text(st.characters(), max_size=60))
def test_every_field_of_a_written_file_is_found(ruleset, note):
    text = write_rules(ruleset, {rule.id: note for rule in ruleset.rules}, head=note)
    lines = text.split("\n")
    found = Lines(text)
    heads = [number for number, line in enumerate(lines, 1) if line == "[[rule]]"]
    assert [found.of(("rule", number)) for number in range(len(ruleset.rules))] == heads
    for number in range(len(ruleset.rules)):
        for name in ("id", "action", "path", "enabled"):
            line = found.of(("rule", number, name))
            assert line > heads[number]
            assert line < (heads[number + 1] if number + 1 < len(heads) else len(lines))
            assert lines[line - 1].startswith(f"{name} = ")


@given(st.text(st.sampled_from("ab=.\"'#\\[]{}\n ,1"), max_size=40))
def test_whatever_the_text_nothing_of_it_is_lost(text):
    parted: list[Any] = list(statements(text))
    joined = "\n".join(each.text for each in parted)
    assert text in (joined, f"{joined}\n")
    assert [each.line for each in parted] == [
        1 + sum(before.text.count("\n") + 1 for before in parted[:number])
        for number in range(len(parted))
    ]
    Lines(text)


def test_what_cannot_be_read_is_suspected_first_and_else_the_last() -> None:
    assert Lines("a = 1\nb = 'x\nc = 2\n").suspect == 2
    assert Lines("a = 1\nb = [\n1\n# more\n").suspect == 2
    assert Lines("a = 1\n\nb = 2\n# end\n\n").suspect == 3
