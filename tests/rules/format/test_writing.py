"""What is written is what is read, and is fit to be read by people."""

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import InputError
from cachediag.rules.file import parse_rules, write_rules
from cachediag.rules.rule import Evidence, Rule, RuleSet
from tests.rules.rulesets import RULESETS

DROP = Rule(
    "strip-billing-header",
    "V01",
    "drop-block",
    "messages",
    "system[0]",
    pattern=r"\Ax-anthropic-billing-header: [ -~]{1,200}\z",
    evidence=Evidence(11, 257_191, True, ("cch=6c09a;", "cch=1c8b4;")),
)
PIN = Rule(
    "pin-session-id",
    "V03",
    "pin",
    "messages",
    "system[1].text",
    pattern=r"^Session's id: ([0-9a-f]{8})$",
    enabled=False,
)
# Any character at all, halves of surrogate pairs too.
ANYTHING = st.text(st.characters(), max_size=60)

WRITTEN = r"""# Made by cachediag 0.1 from the session demo.
#
# Read each rule before you use it; enabled = false sets one aside. Then
#
#     cachediag rules check SESSION FILE                 what they save, what speaks against them
#     cachediag fix strip --rules FILE --upstream URL    apply them to what a client sends

version = 1
profile = "vllm-mlx"
model = "qwen2.5"

# V01 billing header in system[0]. It is new with every request, so that nothing that stands
# behind it is ever found in a cache again.
[[rule]]
id = "strip-billing-header"
finding = "V01"
action = "drop-block"
protocol = "messages"
path = "system[0]"
pattern = '\Ax-anthropic-billing-header: [ -~]{1,200}\z'
enabled = true

[rule.evidence]
requests = 11
tokens_saved = 257191
exact = true
seen = [
    "cch=6c09a;",
    "cch=1c8b4;",
]

[[rule]]
id = "pin-session-id"
finding = "V03"
action = "pin"
protocol = "messages"
path = "system[1].text"
pattern = "^Session's id: ([0-9a-f]{8})$"
enabled = false

# No rule answers S01.
"""


def test_a_file_is_written_for_people() -> None:
    note = (
        "V01 billing header in system[0]. It is new with every request, so that nothing that "
        "stands behind it is ever found in a cache again."
    )
    written = write_rules(
        RuleSet((DROP, PIN), "vllm-mlx", "qwen2.5"),
        {DROP.id: note},
        head="Made by cachediag 0.1 from the session demo.",
        foot="No rule answers S01.",
    )
    assert written == WRITTEN


@given(RULESETS, st.data(), ANYTHING, ANYTHING)
def test_what_is_written_is_read_as_it_was(ruleset, data, head, foot):
    notes = {rule.id: data.draw(ANYTHING) for rule in ruleset.rules}
    assert parse_rules(write_rules(ruleset, notes, head=head, foot=foot), "rules.toml") == ruleset


@given(RULESETS, ANYTHING)
def test_no_character_hides_or_acts_on_a_terminal(ruleset, note):
    notes = {rule.id: note for rule in ruleset.rules}
    text = write_rules(ruleset, notes, head=note, foot=note)
    assert text.replace("\n", "").isprintable()


def test_notes_keep_their_paragraphs_and_what_is_indented() -> None:
    note = f"One.\n\nTwo:\n\n    - {'a long line ' * 12}\n"
    text = write_rules(RuleSet((PIN,)), {PIN.id: note})
    expected = ["# One.", "#", "# Two:", "#", f"#     - {'a long line ' * 12}".rstrip(), "[[rule]]"]
    lines = text.splitlines()
    start = lines.index("# One.")
    assert lines[start : start + len(expected)] == expected


def test_a_note_cannot_end_its_comment() -> None:
    text = write_rules(RuleSet((PIN,)), {PIN.id: "a\r[[rule]]\x85[[rule]]\u2028id = 1\x1b[2J"})
    assert len(tomllib.loads(text)["rule"]) == 1
    assert r"# a [[rule]]\u0085[[rule]]\u2028id = 1\u001b[2J" in text


def test_what_was_seen_of_half_a_character_is_told_as_an_escape() -> None:
    rule = Rule(
        "a", "S07", "keep-inline", "chat", "messages[*]", evidence=Evidence(seen=("\ud83d",))
    )
    (read,) = parse_rules(write_rules(RuleSet((rule,))), "rules.toml").rules
    assert read.evidence.seen == (r"\ud83d",)


@pytest.mark.parametrize("field", ["id", "path", "pattern", "value"])
def test_half_a_character_in_a_rule_cannot_be_written(field: str) -> None:
    rule = Rule("a", "V01", "replace", "messages", "system[0].text", pattern=r"\Aa", value="b")
    rule = replace(rule, **{field: "a\ud83d"})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"the {field} of rule a.* holds half of a character"):
        write_rules(RuleSet((rule,)))


def test_what_does_not_show_is_written_as_an_escape():
    told = "a\u034f\u3164\U000e0101 " + "o" + "\u0301" * 6
    rule = replace(PIN, action="replace", value=told)
    text = write_rules(RuleSet((rule,)), {rule.id: told})
    assert parse_rules(text, "rules.toml").rules == (rule,)
    escaped = r"a\u034f\u3164\U000e0101 o" + "\u0301" * 4 + r"\u0301\u0301"
    assert f'value = "{escaped}"' in text
    assert f"# {escaped}\n" in text
