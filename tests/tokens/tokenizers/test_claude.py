"""The estimate: marked as one, true to shared heads, set right by what the API reports."""

import pytest

from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import qwen
from cachediag.tokens.tokenizers.claude import calibrate, load

PROSE = "The quick brown fox jumps over the lazy dog, and nobody is surprised by it. " * 40


def test_it_is_an_estimate() -> None:
    assert not load().exact


@pytest.mark.parametrize(
    ("model", "scale"),
    [
        ("claude", 1.08),
        ("claude-sonnet-4-6", 1.08),
        ("claude-haiku-4-5-20251001", 1.08),
        ("claude-3-5-sonnet-20241022", 1.08),
        ("claude-sonnet-4-20250514", 1.08),
        ("claude-opus-4-7", 1.46),
        ("claude-opus-4-8", 1.46),
        ("claude-opus-5-5", 1.46),
        ("claude-sonnet-5", 1.46),
    ],
)
def test_the_factor_follows_the_model(model: str, scale: float) -> None:
    assert load(model).scale == scale


@pytest.mark.parametrize("model", ["claude", "claude-opus-4-7"])
def test_the_count_is_that_of_qwen_times_the_factor(model: str) -> None:
    base = len(qwen.load("qwen2.5").encode(PROSE))
    of = load(model)
    assert len(of.encode(PROSE)) == round(base * of.scale)


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.46])
def test_a_shared_head_stays_one(scale: float) -> None:
    of = load("claude")
    of.scale = scale
    one, two = PROSE[:800] + "Then it rained.", PROSE[:800] + "Now the sun was out."
    base = Encoder(qwen.load("qwen2.5"))
    shared = base.sequence([one]).shared(base.sequence([two]))
    encoder = Encoder(of)
    estimate = encoder.sequence([one]).shared(encoder.sequence([two]))
    assert abs(estimate - shared * scale) <= 1


def test_nothing_is_a_special_token() -> None:
    assert load().special == {}
    assert len(load().encode("<|im_start|>")) > 3


def test_a_token_is_found_in_the_text() -> None:
    of = load("claude-opus-4-7")
    assert of.characters(PROSE, 0) == 0
    assert of.characters(PROSE, len(of.encode(PROSE))) == len(PROSE)
    half = of.characters(PROSE, len(of.encode(PROSE)) // 2)
    assert abs(half - len(PROSE) / 2) < 10


def test_counts_of_calibrated_requests_have_the_reported_total() -> None:
    of = load()
    texts = [PROSE, PROSE * 3]
    counted = [len(of.encode(text)) for text in texts]
    reported = [round(count * 1.3) for count in counted]
    better = calibrate(of, zip(counted, reported, strict=True))
    total = sum(len(better.encode(text)) for text in texts)
    assert abs(total - sum(reported)) <= 2
    assert (better.name, better.exact) == ("claude", False)


@pytest.mark.parametrize("pairs", [[], [(0, 50)], [(1000, 0)], [(1000, 5)], [(100, 90_000)]])
def test_reports_that_no_tokenizer_explains_are_left_out(pairs: list[tuple[int, int]]) -> None:
    of = load()
    assert calibrate(of, pairs) is of
    assert calibrate(of, [*pairs, (100, 200)]).scale == pytest.approx(of.scale * 2)


def test_nothing_has_no_tokens() -> None:
    assert load().encode("") == []
