import pytest

from cachediag.rules.making.reach import reach

GIT = """\
Working directory: /home/dev/harbor

Current branch: main
Main branch: trunk

Status:
 M src/berths.py
?? notes/tides.txt

Recent commits:
3f9c2ab Keep berth numbers
b81d07e Add the tide table: a first draft"""


def reached(code, text, piece):
    """The piece with all that belongs to it."""
    start = text.index(piece)
    left, right = reach(code, text, start, start + len(piece))
    return text[start - left : start + len(piece) + right]


@pytest.mark.parametrize(
    ("code", "text", "piece", "whole"),
    [
        ("V02", "The date is 2026-11-29.", "29", "2026-11-29"),
        ("V02", "It is 3 PM here.", "3", "3 PM"),
        ("V03", "Run 3c2f7d10-9b54-4e0a-8f6e-52a1c07be9d4.", "9b54", None),
        ("V04", "left: 151,200 tokens", "1", "151,200"),
        ("V05", GIT, "main", "main"),
        ("V05", GIT, "/dev", "/home/dev/harbor"),
        ("V05", GIT, "src/berths", " M src/berths.py\n?? notes/tides.txt\n"),
        ("V05", GIT, "?? notes/tides.txt\n", " M src/berths.py\n?? notes/tides.txt\n"),
        ("V05", GIT, "b81d07e", GIT.partition("commits:\n")[2]),
        ("V05", "<env>\n<branch>main</branch>\n</env>", "main", "main"),
        ("V06", "One. Two is new. Three.", "new", " Two is new."),
        ("V06", "One. Two is new.", "new", " Two is new."),
        ("V06", "above\nall of it\nbelow", "of", "all of it"),
        ("V06", "above\n- new\nbelow", "- new\n", "- new\n"),
        ("O03", "Known:\n- a\n- b\n- c\n\nEnd", "- b\n", "- a\n- b\n- c\n"),
        ("O03", "Known:\n1. a\n2. b\nEnd", "2. b\n", "1. a\n2. b\n"),
        ("O03", "Known:\na\nb\n\nEnd", "b\n", "a\nb\n"),
        ("O03", "Servers: gopls, pyright, clangd.", "pyright", "gopls, pyright, clangd"),
        ("O03", 'Servers: ["a", "b", "c"]', 'b", "c', '"a", "b", "c"'),
        ("V01", "cch=6c09a;", "6c09a", "6c09a"),
    ],
)
def test_what_belongs_to_a_piece(code, text, piece, whole):
    assert reached(code, text, piece) == (whole or "3c2f7d10-9b54-4e0a-8f6e-52a1c07be9d4")


def test_an_empty_piece_reaches_over_the_lines_around_it():
    at = GIT.index("?? notes")
    left, right = reach("V05", GIT, at, at)
    assert GIT[at - left : at + right] == " M src/berths.py\n?? notes/tides.txt\n"


def test_a_sentence_that_was_added_reaches_no_further():
    text = "Quote paths."
    assert reach("V06", text, len(text), len(text)) == (0, 0)
