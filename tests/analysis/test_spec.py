from typing import Literal

import pytest

from cachediag.analysis.spec import entry, options
from cachediag.errors import UsageError


def build(
    version: str = "1",
    *,
    count: int = 1,
    most: int | None = None,
    rate: float = 0.5,
    on: bool = False,
    call: Literal["get", "post"] = "get",
) -> None:
    """Stands for what is named."""


def none(version: str = "1") -> None:
    """Has no options."""


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", {}),
        ("count=3", {"count": 3}),
        ("count=3,most=9,", {"count": 3, "most": 9}),
        ("rate=2", {"rate": 2.0}),
        ("rate=.25", {"rate": 0.25}),
        ("rate=inf", {"rate": float("inf")}),
        ("on=true", {"on": True}),
        ("on=false,call=post", {"on": False, "call": "post"}),
    ],
)
def test_a_value_is_read_as_the_annotation_says(text: str, read: dict) -> None:
    found = options("it", build, text)
    assert found == read
    assert [type(each) for each in found.values()] == [type(each) for each in read.values()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version=2", "it has no option 'version'"),
        ("counts=2", "it has no option 'counts'"),
        ("count", "count of it must be a number, not ''"),
        ("count=-1", "count of it must be a number, not '-1'"),
        ("count=1.5", "count of it must be a number, not '1.5'"),
        ("most=all", "most of it must be a number, not 'all'"),
        ("rate=-0.5", "rate of it must be a number, not '-0.5'"),
        ("rate=nan", "rate of it must be a number, not 'nan'"),
        ("on=1", "on of it must be false or true, not '1'"),
        ("call=put", "call of it must be get or post, not 'put'"),
    ],
)
def test_a_wrong_option_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        options("it", build, text)


def test_an_unknown_option_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        options("it", build, "x=1")
    assert caught.value.remedy == "It has: count, most, rate, on, call."
    with pytest.raises(UsageError) as caught:
        options("it", none, "x=1")
    assert caught.value.remedy == "It has no options."


def test_an_entry_is_found_by_its_name() -> None:
    assert entry({"a": 1, "b": 2}, "letter", "b") == 2
    with pytest.raises(UsageError, match=r"^no letter is called 'c'$") as caught:
        entry({"a": 1, "b": 2}, "letter", "c")
    assert caught.value.remedy == "Choose one of: a, b."
