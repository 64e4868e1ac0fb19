import pytest

from cachediag.compare.detectors.patterns import mask, words


@pytest.mark.parametrize(
    ("line", "code", "span"),
    [
        ("x-anthropic-billing-header: a=1; cch=6c09a; rest", "V01",
         "x-anthropic-billing-header: a=1; cch=6c09a;"),
        ("Today's date: 2026-11-29.", "V02", "2026-11-29"),
        ("at 2026-11-29T16:35:18.123Z now", "V02", "2026-11-29T16:35:18.123Z"),
        ("It is Sunday, November 29, 2026 here", "V02", "Sunday, November 29, 2026"),
        ("It is 29 Nov 2026 here", "V02", "29 Nov 2026"),
        ("at 4:35 PM today", "V02", "4:35 PM"),
        ("Sun Nov 29 16:35:18 UTC 2026", "V02", "Sun Nov 29 16:35:18 UTC 2026"),
        ("11/29/2026", "V02", "11/29/2026"),
        ("started 1764433518", "V02", "1764433518"),
        ("started 1764433518123 ms", "V02", "1764433518123"),
        ("id 8c2f1a9b-1111-2222-3333-444455556666.", "V03", "8c2f1a9b-1111-2222-3333-444455556666"),
        ("nonce=6c09a;", "V03", "6c09a"),
        ("commit 9f8e7d6", "V03", "9f8e7d6"),
        ("dir /tmp/tmp8f3kx2/x", "V03", "tmp8f3kx2"),
        ("42 tokens left", "V04", "42"),
        ("1,234.5 MB", "V04", "1,234.5"),
    ],
)  # fmt: skip
def test_what_is_volatile_by_its_looks(line, code, span):
    found = [(word.code, line[word.start : word.end]) for word in words(line) if word.code]
    assert found[0] == (code, span)


@pytest.mark.parametrize(
    "line",
    [
        "python311 and utf8",
        "deadline feedface",
        "Maybe the second of may be",
        "version v2",
        "HTML5",
    ],
)
def test_what_is_an_ordinary_word(line):
    assert [w for w in words(line) if w.code not in (None, "V02")] == []


@pytest.mark.parametrize("line", ["", "a, b: 12 at 10:01 é\u0301 \0", "x" * 30_000])
def test_words_are_the_whole_line(line):
    assert "".join(line[word.start : word.end] for word in words(line)) == line


def test_mask_is_what_two_versions_share():
    assert mask("turn 4 at 10:01") == mask("turn 5 at 11:30")
    assert mask("turn 4") != mask("step 4")
