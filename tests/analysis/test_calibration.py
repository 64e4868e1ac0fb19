"""Estimated counts, set right by what responses report."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.analysis.calibration import Calibration, calibrated, scaled_view
from cachediag.analysis.tokenview import TokenView
from cachediag.model import Endpoint, ExchangeInfo, Usage
from cachediag.tokens.tokenizers import tokenizer
from tests.analysis.test_analysed import made

SONNET = "claude-sonnet-4-6"
OPUS = "claude-opus-4-8"


def info(
    usage: Usage | None, model: str | None = SONNET, endpoint: Endpoint = "messages"
) -> ExchangeInfo:
    return ExchangeInfo(endpoint=endpoint, path="/", model=model, usage=usage)


def reported(tokens: int, model: str = SONNET) -> ExchangeInfo:
    return info(Usage(input_tokens=tokens), model)


def estimate() -> Calibration:
    return Calibration(tokenizer("claude"))


def test_a_lane_goes_by_the_tokens_that_it_reported() -> None:
    made = estimate()
    made.add("main", reported(1_200), 1_000)
    made.add("main", reported(3_400), 3_000)
    made.add("agent", reported(900), 1_000)
    assert made.factor("main", SONNET) == 4_600 / 4_000
    assert made.factor("agent", SONNET) == 0.9
    assert made.usages == 3


def test_a_lane_without_a_report_goes_by_those_of_its_model() -> None:
    made = estimate()
    made.add("main", reported(1_200), 1_000)
    made.add("agent", reported(3_000), 3_000)
    made.add("title", reported(500, OPUS), 250)
    assert made.factor("aux", SONNET) == 4_200 / 4_000
    assert made.factor("aux", OPUS) == 2.0
    # A lane that asks another model goes by that model's reports.
    assert made.factor("main", OPUS) == 2.0


def test_without_any_the_plain_estimate_is_that_for_the_model() -> None:
    assert estimate().factor("main", SONNET) == 1.0
    assert estimate().factor("main", OPUS) == 1.46 / 1.08
    assert estimate().factor("main", None) == 1.0
    # A tokenizer that was named stays what it is.
    assert Calibration(tokenizer("claude-sonnet-4-6")).factor("main", OPUS) == 1.0


def test_cached_tokens_are_part_of_the_prompt() -> None:
    made = estimate()
    made.add("main", info(Usage(input_tokens=3, cache_read=900, cache_creation=200)), 1_000)
    assert made.factor("main", SONNET) == 1.103
    # The OpenAI protocols report them among the input tokens.
    chat = estimate()
    chat.add("main", info(Usage(input_tokens=1_100, cache_read=900), SONNET, "chat"), 1_000)
    assert chat.factor("main", SONNET) == 1.1


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (None, 1_000),
        (Usage(output_tokens=9), 1_000),
        (Usage(input_tokens=0), 1_000),
        (Usage(input_tokens=100), 24_000),
        (Usage(input_tokens=90_000), 100),
        (Usage(input_tokens=50), 0),
    ],
)
def test_a_report_that_no_tokenizer_explains_is_left_out(usage: Usage | None, counted: int) -> None:
    made = estimate()
    made.add("main", info(usage), counted)
    assert (made.usages, made.factor("main", SONNET)) == (0, 1.0)


def test_an_exact_count_is_left_alone() -> None:
    made = Calibration(tokenizer("qwen3"))
    made.add("main", reported(1_200), 1_000)
    assert (made.usages, made.factor("main", SONNET)) == (0, 1.0)


def test_while_a_session_goes_on_each_request_goes_by_what_came_before() -> None:
    rows = [made(1_000, usage=usage, model=SONNET) for usage in (None, 2_000, None)]
    told = list(calibrated(rows, tokenizer("claude")))
    assert [row.prompt_tokens for row in told] == [1_000, 2_000, 2_000]


@given(
    gains=st.lists(st.integers(0, 4_000), max_size=4),
    shared=st.integers(0, 9_000),
    factor=st.floats(0.25, 4),
)
def test_a_pairs_causes_still_make_up_the_whole(
    gains: list[int], shared: int, factor: float
) -> None:
    steps = tuple((("V01", f"system[{n}].text"), gained) for n, gained in enumerate(gains))
    end = shared + sum(gains)
    view = scaled_view(
        TokenView(end, end + 10, shared, end, dict(steps), steps, exact=False), factor
    )
    assert view.shared == round(shared * factor)
    assert view.shared + sum(gained for _, gained in view.steps) == view.reusable == view.a
    assert view.b == round((end + 10) * factor)
