"""Session, rule file and request number, told apart."""

from pathlib import Path

import pytest

from cachediag.cli.rules.given import Given, given_files
from cachediag.errors import UsageError


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (["r.toml"], Given(None, Path("r.toml"))),
        (["s", "r.toml"], Given("s", Path("r.toml"))),
        (["r.toml", "4"], Given(None, Path("r.toml"), 4)),
        (["4", "dir/r.toml", "0"], Given("4", Path("dir/r.toml"), 0)),
        (["-", "r.toml"], Given("-", Path("r.toml"))),
    ],
)
def test_the_rule_file_ends_with_toml(words, given):
    assert given_files(words, "usage") == given


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no rule file given"),
        (["s"], "no rule file given"),
        (["a.toml", "b.toml"], "more than one rule file"),
        (["a", "b", "r.toml"], "too many arguments"),
        (["r.toml", "4", "5"], "too many arguments"),
        (["r.toml", "four"], "'four' is no request number"),
        (["r.toml", "-1"], "'-1' is no request number"),
        (["r.toml", "²"], "'²' is no request number"),
    ],
)
def test_what_cannot_be_meant_is_said_with_the_usage(words, message):
    with pytest.raises(UsageError, match=message) as error:
        given_files(words, "the usage")
    assert error.value.remedy == "the usage"
