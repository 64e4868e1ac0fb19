import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.compare.text import hunks, similarity

_PIECES = st.sampled_from(
    ["a", "b", " ", "\n", "2026-11-29", "10:01", "7", "6c09a", "é", "e\u0301", ", ", "- ", "\t"]
)
_TEXTS = st.lists(_PIECES, max_size=25).map("".join) | st.text(max_size=30)


@given(_TEXTS, _TEXTS)
@settings(max_examples=1000)
def test_applying_all_hunks_gives_back_the_earlier_text(before, after):
    found = hunks(before, after)
    undone = after
    for hunk in sorted(found, key=lambda hunk: (hunk.b_start, hunk.b_end), reverse=True):
        piece = before[hunk.a_start : hunk.a_end]
        undone = undone[: hunk.b_start] + piece + undone[hunk.b_end :]
    assert undone == before
    assert (found == []) == (before == after)


@given(_TEXTS, _TEXTS)
def test_hunks_do_not_overlap(before, after):
    found = sorted(hunks(before, after), key=lambda hunk: hunk.b_start)
    assert all(x.b_end <= y.b_start for x, y in itertools.pairwise(found))


def _pieces(before, after):
    return [
        (h.code, before[h.a_start : h.a_end], after[h.b_start : h.b_end])
        for h in hunks(before, after)
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("cch=6c09a; x", "cch=1c8b4; x", [("V03", "6c09a", "1c8b4")]),
        (
            "x-anthropic-billing-header: cc_version=2.1; cch=6c09a;You are",
            "x-anthropic-billing-header: cc_version=2.1; cch=aaaaa;You are",
            [("V01", "6c09a", "aaaaa")],
        ),
        (
            "on 2026-11-29, 5 open",
            "on 2026-11-30, 6 open",
            [("V02", "29", "30"), ("V04", "5", "6")],
        ),
        ("Turn 9", "Turn 10", [("V04", "9", "10")]),
        ("Agents: a, b, c.", "Agents: c, a, b.", [("O03", "a, b, c", "c, a, b")]),
        ("one\ntwo\nthree\n", "two\nthree\none\n", [("O03", "one\ntwo\nthree", "two\nthree\none")]),
        ("caf\u00e9", "cafe\u0301", [("E02", "caf\u00e9", "cafe\u0301")]),
        (r"caf\u00e9", "café", [("E02", r"caf\u00e9", "café")]),
        ("line\n", "line", [("E01", "\n", "")]),
        ("a  b", "a b", [("E01", " ", "")]),
        ("hello world", "hello there", [(None, "world", "there")]),
        (
            "Status:\nM a.py\n\nRecent commits:\nabc1234 one\n",
            "Status:\nM b.py\n\nRecent commits:\ndef5678 two\nabc1234 one\n",
            [("V05", "a", "b"), ("V05", "", "def5678 two\n")],
        ),
    ],
)
def test_the_kind_of_each_piece(before, after, expected):
    assert _pieces(before, after) == expected


@pytest.mark.parametrize(
    ("unit", "gone", "come"),
    [
        *(("a ", "a a", "za"), ("1:", "1:1", "z1"), ("1.", "1.1", "z1"), (", ", ", ", "z")),
        *(("mon ", "mon mon", "zmon"), ("\n", "\n", "z"), ("a\n", "a\na", "za"), ("\0", "\0", "z")),
        ("- x\n", "- x\n", "z"),
        # A word is told as a whole, however long.
        *((unit, unit * 40_000, unit * 39_990 + "z" + unit * 9) for unit in ("a1", "é", "0x")),
    ],
)
def test_long_texts_of_few_differences(unit, gone, come):
    """A square in the length would take minutes."""
    before, after = unit * 40_000, unit * 39_990 + "z" + unit * 9
    (hunk,) = hunks(before, after)
    pieces = before[hunk.a_start : hunk.a_end], after[hunk.b_start : hunk.b_end]
    # Not by `==` alone, which would print both.
    assert (hunk.code, pieces == (gone, come)) == (None, True)
    assert similarity(before, after) == pytest.approx(1 - len(unit) / len(before), abs=1e-4)


def test_similarity():
    assert similarity("", "") == 1.0
    assert similarity("same", "same") == 1.0
    assert similarity("abc", "xyz") == 0.0
    assert similarity("line one\nline two\n", "line two\nline one\n") == pytest.approx(1.0)
    assert 0.8 < similarity("a" * 90 + "b" * 10, "a" * 90 + "c" * 10) < 1.0
