"""Many sessions put together."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cachediag.analysis.summary import CauseCost
from cachediag.batch.model import Counted, Failed
from cachediag.batch.summary import WORST, Basis, Cause, Summary, Tally, Worst

A = Counted(
    label="a",
    profile="anthropic",
    model="claude",
    engine="anthropic",
    requests=4,
    uncounted=1,
    body_bytes=1_000,
    prompt_tokens=400,
    reused_tokens=100,
    avoidable_tokens=200,
    exact=False,
    avoidable_seconds=2.0,
    usd=1.5,
    avoidable_usd=0.5,
    priced_requests=3,
    prices_as_of="2026-09",
    causes=(
        CauseCost("V01", "system[0].text", 3, 150, 0.375),
        CauseCost("S04", "messages[7].content", 1, 50, 0.125),
    ),
)
B = replace(
    A,
    label="b",
    profile="generic",
    engine="sglang",
    exact=True,
    avoidable_seconds=None,
    avoidable_tokens=250,
    usd=None,
    avoidable_usd=None,
    priced_requests=0,
    prices_as_of=None,
    causes=(
        CauseCost("S04", "messages[2].content", 1, 130),
        CauseCost("S04", "messages[*].content", 2, 20),
        CauseCost("-", None, 4, 100),
    ),
    notes=("1 of 5 lines hold no request body",),
)


def tallied(*outcomes: Counted | Failed) -> Summary:
    tally = Tally()
    for outcome in outcomes:
        tally.add(outcome)
    return tally.summary()


def test_sums() -> None:
    failed = Failed("c", "cannot be read", "Look at its rights")
    made = tallied(A, failed, B)
    totals = made.totals
    assert (totals.sessions, totals.requests, totals.uncounted) == (2, 8, 2)
    assert (totals.prompt_tokens, totals.reused_tokens, totals.avoidable_tokens) == (800, 200, 450)
    assert (totals.hit_rate, totals.hit_rate_ceiling) == (0.25, 0.8125)
    assert (totals.avoidable_seconds, totals.timed_sessions) == (2.0, 1)
    assert (totals.usd, totals.avoidable_usd, totals.priced_requests) == (1.5, 0.5, 3)
    assert (totals.prices_as_of, totals.exact, totals.body_bytes) == ("2026-09", False, 2_000)
    assert made.failed == (failed,)
    assert made.notes == 1
    assert made.bases == (
        Basis("anthropic", "claude", "anthropic", 1),
        Basis("generic", "claude", "sglang", 1),
    )


def test_causes_are_ranked_over_all_sessions_wherever_in_the_talk_they_stand() -> None:
    assert tallied(A, B).causes == (
        Cause("S04", "messages[*].content", 2, 4, 200, 0.125),
        Cause("V01", "system[0].text", 1, 3, 150, 0.375),
        Cause("-", None, 1, 4, 100, None),
    )


def test_the_costliest_sessions_come_first_and_of_equals_the_first() -> None:
    second = replace(B, label="b2")
    assert [each.label for each in tallied(A, B, second).worst] == ["b", "b2", "a"]
    worst = Worst(
        label="a",
        requests=4,
        prompt_tokens=400,
        reused_tokens=100,
        avoidable_tokens=200,
        code="V01",
        path="system[0].text",
    )
    assert tallied(A).worst == (worst,)
    healthy = replace(A, avoidable_tokens=0, causes=())
    assert tallied(healthy).worst[0].code is None


def test_nothing_at_all() -> None:
    made = tallied()
    assert (made.totals.hit_rate, made.totals.hit_rate_ceiling) == (0.0, 0.0)
    assert (made.totals.usd, made.worst, made.causes) == (None, (), ())


@given(st.lists(st.integers(0, 50), max_size=60))
def test_of_many_sessions_the_worst_are_kept(lost: list[int]) -> None:
    made = tallied(
        *(
            replace(A, label=str(number), avoidable_tokens=tokens)
            for number, tokens in enumerate(lost)
        )
    )
    ranked = sorted(range(len(lost)), key=lambda number: (-lost[number], number))
    assert [each.label for each in made.worst] == [str(number) for number in ranked[:WORST]]
    assert made.totals.avoidable_tokens == sum(lost)
