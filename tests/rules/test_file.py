"""A rule file is read as it says, or refused with the line, the rule and the mend."""

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import InputError
from cachediag.rules.file import parse_rules, read_rules
from cachediag.rules.rule import Evidence, Rule, RuleSet

GOOD = r"""# By hand.
version = 1
profile = "vllm-mlx@0.3.0"

[[rule]]
id = "no-nonce"
finding = "V03"
action = "replace"
protocol = "messages"
path = "system[0].text"
pattern = '\ASession ([0-9a-f]{8})'
value = "0"

# An arguments' order.
[[rule]]
id = "sort-tools"
finding = "O01"
action = "sort"
protocol = "chat"
path = "tools"
by = "name"
enabled = false
evidence = { requests = 3, seen = ["Bash, Read", "Read, Bash"] }
"""
NONCE = Rule(
    "no-nonce",
    "V03",
    "replace",
    "messages",
    "system[0].text",
    pattern=r"\ASession ([0-9a-f]{8})",
    value="0",
)
TOOLS = Rule(
    "sort-tools",
    "O01",
    "sort",
    "chat",
    "tools",
    by="name",
    enabled=False,
    evidence=Evidence(3, seen=("Bash, Read", "Read, Bash")),
)


def refusal(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        parse_rules(text, "rules.toml")
    return caught.value


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(GOOD, encoding="utf-8")
    assert read_rules(path) == RuleSet((NONCE, TOOLS), profile="vllm-mlx@0.3.0")


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert read_rules(path).rules == (NONCE, TOOLS)
    path.write_bytes(
        b"\xef\xbb\xbf" + GOOD.replace("tools", "tolls").replace("\n", "\r\n").encode()
    )
    with pytest.raises(InputError, match=r"rules\.toml:20: rule sort-tolls: "):
        read_rules(path)


def test_a_file_without_rules_has_none() -> None:
    assert parse_rules("version = 1", "rules.toml") == RuleSet()


RULES = GOOD[GOOD.index("[[rule]]") :]
FIELDS = "The fields are version, profile, model, rule."
CASES = [
    # The file as a whole.
    (GOOD, "", 1, "not a rule file: it has no version", "Begin it with: version = 1"),
    (
        "version = 1",
        "version = 2\nnew = 1",
        2,
        "its version is 2, and this cachediag reads 1",
        "Use",
    ),
    ("version = 1", "version = '1'", 2, "version must be 1", "Begin the file with: version = 1"),
    ("version = 1", "version = true", 2, "version must be 1", "Begin the file with: version = 1"),
    ("version = 1", "version = 0", 2, "version must be 1", "Begin the file with: version = 1"),
    ("profile", "profil", 3, "unknown field 'profil'", "Did you mean profile?"),
    ("profile =", "zzz =", 3, "unknown field 'zzz'", FIELDS),
    ('"vllm-mlx@0.3.0"', "0.3", 3, "profile must be a text, not a number with a point", "Put it"),
    (RULES, "[[rules]]\nid = 1", 5, "unknown field 'rules'", "Did you mean rule?"),
    (RULES, "[rule]\nid = 1", 5, "a rule must be a table", "Begin each with a line [[rule]]."),
    (RULES, "rule = [1]", 5, "a rule must be a table", "Begin each with a line [[rule]]."),
    # Names and types of fields.
    ("pattern =", "patern =", 11, "rule no-nonce: unknown field 'patern'", "Did you mean pattern?"),
    ("requests =", "request =", 23, "rule sort-tools: unknown field 'request'", "Did you mean req"),
    ('id = "sort-tools"\n', "", 15, "id is missing", 'Add id = "strip-billing-header".'),
    (
        'path = "tools"\n',
        "",
        15,
        "rule sort-tools: path is missing",
        'Add path = "system[0].text".',
    ),
    (
        '"sort-tools"',
        "7",
        16,
        "id must be a text, not a whole number",
        "Put it between quotes: id =",
    ),
    (
        'value = "0"',
        "value = 0",
        12,
        "rule no-nonce: value must be a text, not a whole number",
        "Pu",
    ),
    (
        'value = "0"',
        "value = 2026-01-01",
        12,
        "rule no-nonce: value must be a text, not a date",
        "P",
    ),
    (
        "= false",
        '= "no"',
        22,
        "rule sort-tools: enabled must be true or false, not a text",
        "Write",
    ),
    (
        "= false",
        "= 0",
        22,
        "rule sort-tools: enabled must be true or false, not a whole n",
        "Write",
    ),
    (
        "requests = 3",
        "requests = '3'",
        23,
        "rule sort-tools: requests must be a whole number",
        "Wr",
    ),
    (
        "requests = 3",
        "requests = -3",
        23,
        "rule sort-tools: requests cannot be -3",
        "Write a number",
    ),
    ('"Read, Bash"', "1", 23, "rule sort-tools: seen[1] must be a text, not a whole number", "Put"),
    (
        '["Bash, Read", "Read, Bash"]',
        '"a"',
        23,
        "rule sort-tools: seen must be a list",
        "Write it ",
    ),
    (
        "{ requests",
        "7 # { requests",
        23,
        "rule sort-tools: evidence must be a table, not",
        "Write a ",
    ),
    # What a field may say.
    ("sort-tools", "sort_tools", 16, "'sort_tools' is no id", "Write small letters and digits"),
    (
        "sort-tools",
        r"sort-tools\n",
        16,
        r"'sort-tools\n' is no id",
        "Write small letters and digits",
    ),
    ("sort-tools", "", 16, "'' is no id", "Write small letters and digits"),
    ("sort-tools", "a" * 81, 16, f"'{'a' * 38}… is no id", "Write small letters and digits"),
    (
        "sort-tools",
        "no-nonce",
        16,
        "rule no-nonce: an earlier rule has the same id",
        "Give each rule",
    ),
    ("O01", "o01", 17, "rule sort-tools: no finding has the code 'o01'", "Did you mean O01"),
    (
        "O01",
        "O77",
        17,
        "rule sort-tools: no finding has the code 'O77'",
        "List them all: cachediag e",
    ),
    (
        '"sort"',
        '"srot"',
        18,
        "rule sort-tools: unknown action 'srot'",
        "Did you mean sort? Write one",
    ),
    (
        '"chat"',
        '"caht"',
        19,
        "rule sort-tools: unknown protocol 'caht'",
        "Did you mean chat? Write o",
    ),
    (
        '"name"',
        '"nam"',
        21,
        "rule sort-tools: unknown by 'nam'",
        "Did you mean name? Write one of na",
    ),
    # What an action needs, and what it has no use for.
    ('value = "0"', "", 5, "rule no-nonce: replace needs value", 'Add value = "0000".'),
    ("pattern", "# pattern", 5, "rule no-nonce: replace needs pattern", "Add pattern = '"),
    (
        'by = "name"',
        "",
        15,
        "rule sort-tools: sort needs by",
        'Add by = "name", "keys", "lines" or',
    ),
    (
        '"replace"',
        '"drop-block"',
        12,
        "rule no-nonce: drop-block has no use for value",
        "Take it out",
    ),
    (
        'value = "0"',
        'by = "name"\nvalue = ""',
        12,
        "rule no-nonce: replace has no use for by",
        "Ta",
    ),
    (
        "enabled = f",
        "pattern = '^a'\nenabled = f",
        22,
        "rule sort-tools: sort by name has no use",
        "Ta",
    ),
    (
        'value = "0"',
        'value = ""\narguments = true',
        13,
        "rule no-nonce: replace has no use",
        "Set it",
    ),
    # Paths.
    (
        '"tools"',
        '"tools[0"',
        20,
        "rule sort-tools: 'tools[0' is no path at character 6",
        "Write it as",
    ),
    (
        '"tools"',
        '""',
        20,
        "rule sort-tools: the path is empty",
        "Write one such as system[0].text.",
    ),
    (
        '"tools"',
        '"system"',
        20,
        "rule sort-tools: the path 'system' leads to nothing",
        "It begins with",
    ),
    (
        '"tools"',
        '"tool"',
        20,
        "rule sort-tools: the path 'tool' leads to nothing",
        "Did you mean tools?",
    ),
    (
        "[0].text",
        "[0]",
        10,
        "rule no-nonce: replace changes a text, and 'system[0]' is a whole",
        "Wri",
    ),
    # Patterns.
    (r"\AS", "S", 11, "rule no-nonce: the pattern is not anchored", "For example: pattern = '"),
    ("{8})", "+)+", 11, "rule no-nonce: '+' at character", "For example: pattern = '"),
    (
        "{8})",
        "{8}" * 1500 + ")",
        11,
        "rule no-nonce: pattern is longer than 4096 characters",
        "Write a",
    ),
    # What is no TOML.
    (r"'\AS", r'"\AS', 11, "not TOML: ", "Single quotes keep backslashes as they are: pattern = '"),
    ("{8})'", "{8})", 11, "not TOML: ", "Close the text with the quotes that it begins with"),
    ('"0"', '"0', 12, "not TOML: ", "Close the text with the quotes that it begins with"),
    ('"Read, Bash"] }\n', '"""\nRead', 23, "not TOML: ", "Close the text with the quotes"),
    (
        '"tools"',
        "tools",
        20,
        "not TOML: ",
        "Put texts between quotes; numbers, true and false stand",
    ),
    ('"O01"', '"O01"\nfinding = "O01"', 18, "not TOML: ", "A field stands once in each rule"),
    ("[[rule]]\nid", "[[rule]\nid", 15, "not TOML: ", "Write a field a line as name = value"),
    ("by = ", "by: ", 21, "not TOML: ", "Write a field a line as name = value"),
    ("# By hand.", "{}", 1, "not TOML: ", "Write a field a line as name = value"),
    (
        "requests = 3",
        f"requests = {'9' * 5000}",
        23,
        "a number too long",
        "Write a field a line as",
    ),
    (
        "requests = 3",
        f"requests = {'[' * 5000}",
        23,
        "nested too deeply",
        "Write a field a line as",
    ),
    ("requests = 3", f"a{'.a' * 5000} = 3", 23, "nested too deeply", "Write a field a line as"),
    (
        "Bash, Read",
        "Bash\0",
        23,
        "not a rule file: no text, but binary",
        "Make one from a session: ",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "message", "remedy"), CASES)
def test_what_is_wrong_is_told_with_its_line(
    old: str, new: str, line: int, message: str, remedy: str
) -> None:
    assert GOOD.count(old) >= 1
    error = refusal(GOOD[: GOOD.rindex(old)] + new + GOOD[GOOD.rindex(old) + len(old) :])
    assert error.where == f"rules.toml:{line}"
    assert error.message.startswith(message)
    assert error.remedy is not None
    assert error.remedy.startswith(remedy)
    assert "\n" not in error.message + error.remedy


ACTIONS = [
    ("drop-block", "messages", "system[0].text", r"pattern = '\Aa\z'", 'path = "system[0]"'),
    ("drop-block", "messages", "system[0]", "pattern = '^abc'", r"Begin it with \A, and end"),
    ("drop-block", "messages", "system[0]", "", "Add pattern = "),
    ("pin", "messages", "system[0].text", "", "Add pattern = "),
    ("pin", "messages", "tools[name=Bash]", "pattern = '^abc'", 'path = "tools[name=Bash].descr'),
    ("move-to-end", "chat", "system[0].text", "", "It begins with tools, functions or messages."),
    ("move-to-end", "responses", "messages[0]", "", "It begins with instructions, tools or input."),
    ("keep-inline", "messages", "messages[3]", "", 'Write path = "messages[*]".'),
    ("keep-inline", "chat", "messages[*].content", "", 'Write path = "messages[*]".'),
    ("keep-inline", "responses", "input[0]", "", 'Write path = "input[*]".'),
    ("keep-inline", "messages", "messages[*]", "pattern = '^abc'", "Take it out; it belongs to"),
    ("sort", "messages", "messages[*].content[*].input", 'by = "keys"', "Set arguments = true"),
    ("sort", "responses", "input[*].arguments", 'by = "keys"', "Set arguments = true"),
]


@pytest.mark.parametrize(("action", "protocol", "path", "more", "remedy"), ACTIONS)
def test_an_action_has_what_it_needs(
    action: str, protocol: str, path: str, more: str, remedy: str
) -> None:
    error = refusal(
        f'version = 1\n[[rule]]\nid = "a"\nfinding = "V06"\naction = "{action}"\n'
        f'protocol = "{protocol}"\npath = "{path}"\n{more}'
    )
    assert error.remedy is not None
    assert remedy in error.remedy


@pytest.mark.parametrize("name", ["x` - at `$.rule[9]", "x` - at `$", "`", "a.b", "\x7f", "é"])
def test_a_name_that_is_made_to_confuse_is_told_as_unknown(name: str) -> None:
    error = refusal(GOOD.replace("[[rule]]", f"{json.dumps(name)} = 1\n[[rule]]", 1))
    assert (error.where, error.message) == ("rules.toml:5", f"unknown field {name!r}")
    error = refusal(GOOD.replace("value =", f"{json.dumps(name)} =", 1))
    assert error.where == "rules.toml:12"
    assert error.message == f"rule no-nonce: unknown field {name!r}"


def test_of_several_troubles_one_is_told_at_a_time() -> None:
    error = refusal(GOOD.replace("V03", "V33").replace('value = "0"', ""))
    assert error.where == "rules.toml:7"


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    for path, why in [(tmp_path / "none.toml", "No such file"), (tmp_path, "Is a directory")]:
        with pytest.raises(InputError, match=f"cannot be read .{why}") as caught:
            read_rules(path)
        assert caught.value.where == str(path)
        assert caught.value.remedy == "Make one from a session: cachediag rules new -o rules.toml"


def test_a_session_in_its_place_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.cachediag"
    path.write_bytes(b"SQLite format 3\0\x10\0")
    with pytest.raises(InputError, match="a session, not a rule file") as caught:
        read_rules(path)
    assert caught.value.remedy == (
        "The session stands first: cachediag rules check SESSION rules.toml"
    )


def test_text_in_another_encoding_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(b"version = 1\n\nprofile = '\xe4'\n")
    with pytest.raises(InputError, match="not a rule file: not text in UTF-8") as caught:
        read_rules(path)
    assert caught.value.where == f"{path}:3"


def test_a_file_without_end_is_not_read_to_it() -> None:
    with pytest.raises(InputError, match="not a rule file: larger than 256 kB"):
        read_rules(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = 1\n" + "[[rule]]\n" * 28_000, "id is missing"),
        ("version = 1\n" + '"""\n' * 60_000, "not TOML: expected '='"),
        ("version = 1\nx = '" + "y = 1\n" * 40_000, 'not TOML: expected "\'"'),
        (".".join("a" * 120_000), "nested too deeply"),
        (
            "\n".join("[" + ".".join(f"a{number}" * 90) + "]" for number in range(330)),
            "nested too deeply",
        ),
        ('"' + '\\"' * 120_000, "not TOML: unterminated string"),
        ("version = 1\nx = [" + "1,\n" * 80_000, "not TOML: invalid value"),
        ("[" * 250_000, "not TOML: invalid initial character"),
        ("a = " + "{a = " * 50_000, "nested too deeply"),
        ("version = 1\nrule = [" + "{}," * 80_000 + "]", "id is missing"),
    ],
    # The texts themselves would be the names.
    ids=range(10),
)
def test_a_file_made_to_be_slow_is_refused(text: str, message: str) -> None:
    """Each takes about a second; read in the square of its length, minutes."""
    assert refusal(text).message.startswith(message)


@given(st.binary(max_size=200), st.sampled_from([b"", b"version = 1\n", GOOD.encode()]))
def test_whatever_the_bytes_nothing_but_an_error_comes_of_them(tmp_path_factory, junk, before):
    path = tmp_path_factory.getbasetemp() / f"junk-{os.getpid()}.toml"
    path.write_bytes(before + junk)
    with suppress(InputError):
        read_rules(path)


PIECES = (
    *("[[rule]]", "[rule]", "id", "rule", "evidence", "seen", " = ", ".", "\n", "'", '"', '"""'),
    *("[", "]", "{", "}", ",", "1", "true", "1.5", "2026-01-01", "\\", "#", "version", "é", "`"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_whatever_the_words_nothing_but_an_error_comes_of_them(words):
    for before in ("version = 1\n", GOOD):
        text = before + words
        with suppress(InputError):
            parse_rules(text, "rules.toml")
