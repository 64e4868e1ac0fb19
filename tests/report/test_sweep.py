"""How a sweep looks, and which traps it tells of."""

import pytest

from cachediag.report.sweep import SweepReport, pitfalls
from cachediag.simulate.lengths import Trap
from tests.report.test_simulate import shown
from tests.simulate.made import swept

PAIRS = {
    (1024, 1): (2.0, 2.1),
    (1024, 2): (2.1, 2.2),
    (2048, 1): (1.0, 1.1),
    (2048, 2): (1.05, 1.0),
}
RANDOM = (3.0, 3.1)


def test_the_pair_the_table_and_what_a_head_is() -> None:
    report = SweepReport(swept(PAIRS, random=RANDOM), ("told",), (("cachediag simulate", "on"),))
    assert shown(report) == [
        "harbour   4 requests   2 replicas   2 runs of each",
        "cache of blocks, no limit   tokens exact, times estimate",
        "prefill 100, decode 10, of all 100 tokens/s   256 at once   latency 0.00 s",
        "",
        "PrefixLength 2,048 with ConcurrencyThreshold 2: 1.02 s to the first token at the",
        "90th percentile (3.05 s at random), 50.0% of the prompt tokens reused (50.0% at",
        "random, 75.0% by one server that keeps everything).",
        "2 of 4 pairs cannot be told from the fastest. Of these with the shortest head,",
        "this one is the fastest.",
        "",
        "PrefixLength in bytes of the body, ConcurrencyThreshold from left to right",
        "             1     2   p90 of the first token, s",
        "   1,024  2.05  2.15",
        "   2,048  1.05  1.02   recommended",
        "             1     2   hit rate, %",
        "   1,024  50.0  50.0",
        "   2,048  50.0  50.0   recommended",
        "",
        "what such a head is here: medians of 4 requests",
        "     bytes  characters  tokens    of tools, system  heads   most end in",
        "     1,024       1,024     256            0 of 900      2   messages[*].content",
        "     2,048       2,048     512            0 of 900      2   messages[*].content",
        "",
        "  2,048 bytes of these requests are 512 tokens.",
        "",
        "taken for granted",
        "- told",
        "",
        "next   cachediag simulate   on",
    ]


def test_a_pair_that_is_no_better_than_random_says_so() -> None:
    lines = shown(SweepReport(swept(PAIRS, random=(1.0, 1.1))))
    assert "That cannot be told from routing at random." in lines


def test_where_no_pair_can_be_told_there_is_nothing_to_choose() -> None:
    same = dict.fromkeys(PAIRS, (1.0, 2.0))
    said = " ".join(shown(SweepReport(swept(same)))[3:9])
    assert "There is nothing to choose: none of the 4 pairs can be told" in said
    assert "PrefixLength 1,024 with ConcurrencyThreshold 1:" in said


def told(applies: bool = True, **given) -> list[str]:
    made = swept(PAIRS, random=RANDOM, **given)
    return [sentence for holds, sentence in pitfalls(made) if holds is applies]


def test_no_trap_is_told_of_that_was_not_seen() -> None:
    assert told() == []


def test_messages_before_system_and_tools() -> None:
    (sentence,) = told(without_leading=3)
    assert sentence.startswith("In 3 of 4 requests the first 2,048 bytes hold nothing of tools")
    assert "messages stand before them in the body" in sentence
    (sentence,) = told(without_leading=3, unit="characters")
    assert "2,048 characters of the messages' text hold nothing" in sentence
    assert "stand before" not in sentence


def test_one_head_for_all() -> None:
    assert told(heads=1) == [
        "All requests have one head: it tells nothing of which conversation they are."
    ]


def test_bytes_are_no_tokens_and_no_characters() -> None:
    assert told(False, tokens=500, wide=2) == [
        "2,048 bytes of these requests are 500 tokens.",
        "In 2 of 4 requests the head has characters of more than one byte: bytes are not"
        " characters.",
    ]
    assert told(False, tokens=2048) != told(False, tokens=500)


@pytest.mark.parametrize(
    ("trap", "said"),
    [
        (
            Trap("volatile", "V01", "system[0].text", (30, 40)),
            "In 2 of 4 requests V01 billing header (system[0].text, byte 30) is new: each time"
            " that makes another head.",
        ),
        (
            Trap("key-order", None, "system", (20,)),
            "In 1 of 4 requests the body has its fields in another order (system, byte 20): each"
            " time that makes another head.",
        ),
        (
            Trap("spelling", None, "messages[0].content", (2047,)),
            "In 1 of 4 requests what is said is the same and its bytes are not"
            " (messages[0].content, byte 2,047): each time that makes another head.",
        ),
    ],
)
def test_what_makes_heads_differ(trap, said) -> None:
    assert told(looked={"traps": (trap,)}) == [said]


def test_a_trap_behind_the_recommended_length_is_told_for_longer_ones() -> None:
    trap = Trap("volatile", "V01", "system[0].text", (1500, 3000))
    only = {(1024, 1): (1.0, 1.1), (2048, 1): (2.0, 2.1), (4096, 1): (2.0, 2.1)}
    made = swept(only, random=RANDOM, looked={"traps": (trap,)})
    assert [holds for holds, _ in pitfalls(made)] == [False, False]
    assert list(pitfalls(made))[-1][1] == (
        "From a PrefixLength of 2,048 on: in up to 2 of 4 requests V01 billing header"
        " (system[0].text, byte 1,500) is new."
    )


@pytest.mark.parametrize("unit", ["bytes", "characters"])
def test_eleven_columns_fit_and_nothing_wraps(unit) -> None:
    pairs = {(2**row, 2**column): (999.0, 999.5) for row in range(10, 17) for column in range(11)}
    trap = Trap("volatile", "V06", "messages[0].content[0].text" * 4, (30,))
    made = swept(pairs, unit=unit, wide=1, without_leading=1, looked={"traps": (trap,)})
    for encoding in ("utf-8", "ascii"):
        lines = shown(SweepReport(made), encoding=encoding)
        assert all(len(line) <= 80 for line in lines)


def test_captured_text_cannot_act_on_the_terminal() -> None:
    trap = Trap("spelling", None, "messages\x1b[2J", (30,))
    made = swept(PAIRS, ends_in="\x1b[2J", looked={"traps": (trap,)})
    assert not any("\x1b" in line for line in shown(SweepReport(made)))
