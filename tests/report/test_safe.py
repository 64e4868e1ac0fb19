import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.report.safe import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 中 🙂", "plain é 中 🙂"),
        ("\x1b[31mred\x1b[0m", "\\e[31mred\\e[0m"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b2J", "\\x9b2J"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        ("\x07\x00\x7f", "\\x07\\x00\\x7f"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("a\u034f\u115f\u3164\ufe0f\U000e0101", "a\\u034f\\u115f\\u3164\\ufe0f\\U000e0101"),
        ("flood " + "a" + "\u0301" * 6, "flood a" + "\u0301" * 4 + "\\u0301" * 2),
        ("ノ\u3099क्षि ầ\u0323 中文テスト", "ノ\u3099क्षि ầ\u0323 中文テスト"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters()))
def test_nothing_that_acts_on_a_terminal_is_left(text):
    shown = printable(text)
    shown.encode()
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for c in shown)
    assert printable(shown) == shown
