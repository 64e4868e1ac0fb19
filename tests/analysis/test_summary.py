"""A session as a whole: causes ranked, and what they cost."""

import pytest

from cachediag.analysis.analysed import Analysed
from cachediag.analysis.choice import Choice, choose
from cachediag.analysis.summary import summarise
from tests.analysis.test_analysed import made

MILLION = 1_000_000
HEADER = "system[0].text"


@pytest.fixture(scope="module")
def hosted() -> Choice:
    return choose("messages", tokenizer_spec="claude-opus-4-8")


@pytest.fixture(scope="module")
def local() -> Choice:
    return choose("messages", profile_spec="vllm-mlx@0.6.0", model_spec="qwen3")


def test_a_miss_costs_the_write_less_the_read(hosted: Choice) -> None:
    """Opus 4.8 at 5 dollars: written anew for 6.25, read for 0.50."""
    request = made(
        2 * MILLION,
        blamed=(("V01", HEADER, MILLION),),
        created=2 * MILLION,
    )
    found = summarise([request], hosted)
    assert found.usd == 12.5
    assert found.avoidable_usd == 5.75
    assert found.causes[0].usd == 5.75
    assert found.prices_as_of == "2026-09"


def test_what_is_not_kept_costs_the_input_price(hosted: Choice) -> None:
    request = made(MILLION, blamed=(("V01", HEADER, MILLION),))
    assert summarise([request], hosted).avoidable_usd == pytest.approx(5.0 - 0.5)


def test_an_hour_costs_twice_the_input_price(hosted: Choice) -> None:
    request = made(
        2 * MILLION,
        blamed=(("V01", HEADER, 2 * MILLION),),
        created=2 * MILLION,
        created_1h=MILLION,
    )
    found = summarise([request], hosted)
    assert found.usd == 16.25
    assert found.avoidable_usd == pytest.approx(16.25 - 1.0)


def test_causes_share_out_what_their_request_costs(hosted: Choice) -> None:
    blamed = (("V01", HEADER, 300_000), ("V05", "system[2].text", 100_000))
    found = summarise([made(MILLION, blamed=blamed)], hosted)
    assert found.avoidable_usd == pytest.approx(0.4 * 4.5)
    assert [cause.usd for cause in found.causes] == pytest.approx([0.3 * 4.5, 0.1 * 4.5])


def test_nothing_is_said_where_the_price_is_not_known(hosted: Choice) -> None:
    blamed = (("V01", HEADER, 1_000),)
    unknown = made(2_000, blamed=blamed, model="made-up", index=1)
    found = summarise([unknown], hosted)
    assert (found.usd, found.avoidable_usd, found.prices_as_of) == (None, None, None)
    assert found.causes[0].usd is None
    both = summarise([made(2_000, blamed=blamed), unknown], hosted)
    assert list(both.costs) == [0]
    assert both.causes[0].tokens_lost == 2_000
    assert both.causes[0].usd == pytest.approx(1_000 * 4.5 / MILLION)


def test_an_engine_of_ones_own_costs_no_money(local: Choice) -> None:
    found = summarise([made(2_000, blamed=(("V01", HEADER, 1_000),))], local)
    assert found.usd is None


def test_counts_are_those_that_the_api_reports(hosted: Choice) -> None:
    blamed = (("V01", HEADER, 400),)
    rows = [made(1_000, usage=1_500), made(1_000, reused=500, blamed=blamed, index=1)]
    found = summarise(rows, hosted)
    assert [request.prompt_tokens for request in found.requests] == [1_500, 1_500]
    assert (found.reused_tokens, found.avoidable_tokens) == (750, 600)
    assert found.causes[0].tokens_lost == 600
    assert (found.calibrated_usages, found.token_factors) == (1, {"main": 1.5})
    assert not found.exact


def test_one_lane_is_calibrated_by_what_the_others_report(hosted: Choice) -> None:
    title = Analysed(
        info=made(0, index=1).info,
        lane="title",
        kind="auxiliary",
        parent=None,
        prompt_tokens=100,
    )
    found = summarise([made(1_000, usage=1_500), title], hosted, lane="title")
    assert [request.prompt_tokens for request in found.requests] == [150]
    assert found.prompt_tokens == 150


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        (
            ["messages[2].content[0].text", "messages[4].content[1].text"],
            ["messages[*].content[*].text"],
        ),
        (["messages[2].content", "messages[2].content"], ["messages[2].content"]),
        (["input[2].arguments", "input[5].arguments"], ["input[*].arguments"]),
        (["system[0].text", "system[2].text"], ["system[0].text", "system[2].text"]),
        ([None, None], [None]),
    ],
)
def test_a_cause_that_moves_on_with_the_talk_is_one(
    local: Choice, paths: list[str | None], told: list[str | None]
) -> None:
    rows = [
        made(1_000, blamed=(("S11", path, 20 - number),), index=number)
        for number, path in enumerate(paths)
    ]
    causes = summarise(rows, local).causes
    assert [cause.path for cause in causes] == told
    assert sum(cause.requests for cause in causes) == len(paths)
    assert sum(cause.tokens_lost for cause in causes) == 39


def test_a_rate_that_no_machine_has_is_not_measured(local: Choice) -> None:
    def timed(seconds: float, index: int) -> Analysed:
        request = made(10_000, index=index)
        info = type(request.info)(
            index=index,
            endpoint="messages",
            path="/",
            started=100.0,
            first_token=100.0 + seconds,
        )
        return Analysed(
            info=info, lane="main", kind="turn", parent=None, prompt_tokens=request.prompt_tokens
        )

    assert summarise([timed(0.001, 0)], local).prefill_rate is None
    assert summarise([timed(0.001, 0), timed(50.0, 1)], local).prefill_rate == 200.0
