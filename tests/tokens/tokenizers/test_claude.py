"""The estimate: marked as one, and true to shared heads."""

import pytest

from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import qwen
from cachediag.tokens.tokenizers.claude import load, scale_of

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


@pytest.mark.parametrize(
    ("model", "scale"),
    [
        ("us.anthropic.claude-opus-4-8-v1:0", 1.46),
        ("anthropic/claude-opus-4.8", 1.46),
        ("anthropic/claude-sonnet-4.5", 1.08),
        ("qwen3-30b", 1.08),
    ],
)
def test_a_platforms_name_tells_the_model(model: str, scale: float) -> None:
    assert scale_of(model) == scale


def test_nothing_has_no_tokens() -> None:
    assert load().encode("") == []
