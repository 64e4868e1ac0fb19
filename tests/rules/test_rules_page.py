"""The page that describes rules is held against the code."""

import re
from pathlib import Path

import pytest

from cachediag.errors import InputError
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.file import parse_rules
from cachediag.rules.format.schema import EvidenceTable, FileTable, RuleTable
from cachediag.rules.pattern import PatternError, check
from cachediag.rules.rule import ACTIONS, SORT_BY

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
SECTIONS = {
    part.partition("\n")[0]: part for part in re.split(r"^##+ ", PAGE, flags=re.MULTILINE)[1:]
}
BLOCK = re.compile(r'^```(toml|json)(?: title="([^"\n]*)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
EXAMPLES = [*ACTIONS, "What is never touched"]
HEADER = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch=6c09a;"


def blocks(text: str) -> list[tuple[str, str, str]]:
    """Language, title and content of each block."""
    return [(block[1], block[2] or "", block[3]) for block in BLOCK.finditer(text)]


def test_every_rule_file_of_the_page_is_one() -> None:
    files = [content for language, _, content in blocks(PAGE) if language == "toml"]
    assert len(files) == 1 + len(EXAMPLES)
    for content in files:
        assert parse_rules(content, "docs/rules.md").rules


@pytest.mark.parametrize("section", EXAMPLES)
def test_the_examples_show_what_is_done(section: str) -> None:
    (_, _, file), *bodies = blocks(SECTIONS[section])
    rules, pins = parse_rules(file, section).rules, Pins()
    assert section not in ACTIONS or {rule.action for rule in rules} == {section}
    made, changed = b"", []
    for language, title, content in bodies:
        assert language == "json"
        if title.endswith("as sent"):
            applied = apply_rules(content.encode(), "messages", rules, pins)
            made, changed = applied.body, [change.rule for change in applied.changes]
        else:
            assert title == "as it goes on"
            assert content == made.decode()
    assert set(changed) == ({rule.id for rule in rules} if section in ACTIONS else set())
    assert bodies[-1][1] == "as it goes on"


def test_every_field_is_described() -> None:
    described = set(re.findall(r"`(\w+)`", SECTIONS["Fields"]))
    for table in (FileTable, RuleTable, EvidenceTable):
        assert set(table.__struct_fields__) - {"rule"} <= described
    words = re.findall(r"^\| `(\w+)` \|", SECTIONS["sort"], re.MULTILINE)
    assert words == ["by", *SORT_BY]


@pytest.mark.parametrize(
    "pattern",
    [
        *re.findall(r"^pattern = '(.*)'$", PAGE, re.MULTILINE),
        r"^Today is [a-f0-9][^\n]\d\w\s\D\W\S.\n\t\r\f\v\xe9\u20ac(?:one|two)(?:maybe)?",
        r"\A\\\.\^\$\|\?\*\+\(\)\[\]\{\}",
        r"\Aa{8}b{1,40}c{1,}d+e*f?g+?( )\z",
        r"\Aa$",
    ],
)
def test_what_the_page_says_of_patterns_holds(pattern: str) -> None:
    check(pattern)


@pytest.mark.parametrize(
    "pattern", ["a", "^", "^[ab]", r"\A(a)+", r"\A(?=a)", r"\A(a)\1", r"\A.*.*.*a"]
)
def test_what_the_page_says_is_refused_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        check(pattern)


def test_the_pattern_for_the_billing_header_matches_a_real_one() -> None:
    (rule,) = parse_rules(blocks(PAGE)[0][2], "docs/rules.md").rules
    body = f'{{"system":[{{"type":"text","text":"{HEADER}"}}],"messages":[]}}'
    assert apply_rules(body.encode(), "messages", [rule]).body == b'{"system":[],"messages":[]}'


def test_the_mistake_is_told_as_the_page_shows() -> None:
    (_, _, file), *_ = blocks(SECTIONS["drop-block"])
    with pytest.raises(InputError) as caught:
        parse_rules(
            file.replace("drop-block", "replace").replace("m[0]", "m[0].text"), "rules.toml"
        )
    where, mend = re.findall(r"^cachediag: (\S+): (.*\n.*)$", PAGE, re.MULTILINE)[0]
    assert re.fullmatch(r"rules\.toml:\d+", where)
    assert mend == f"{caught.value.message}\n           {caught.value.remedy}"
