from hypothesis import given
from hypothesis import strategies as st

from cachediag.unseen import escaped


@given(st.text())
def test_what_shows_stays_and_the_rest_is_escaped_once(text):
    made = escaped(text, lambda c: f"<{ord(c):x}>")
    assert made.isprintable()
    assert escaped(made, lambda _: "lost") == made


def test_joiners_and_fillers_that_python_calls_printable():
    assert escaped("a\u034f\u115f\u3164\ufe0f\U000e0101b", lambda _: ".") == "a.....b"


def test_as_many_marks_as_a_script_needs_stay():
    assert escaped("क्षि ầ\u0323 中文", lambda _: ".") == "क्षि ầ\u0323 中文"
    assert escaped("a" + "\u0301" * 6, lambda _: ".") == "a" + "\u0301" * 4 + ".."
