"""Ids as the models' own `tokenizer.json` gives them."""

import pytest

from cachediag.tokens.tokenizers.qwen import SPECIAL, load


@pytest.mark.parametrize(
    ("generation", "text", "ids"),
    [
        ("qwen2.5", "<|im_start|>user\nHello, world!<|im_end|>\n",
         [151644, 872, 198, 9707, 11, 1879, 0, 151645, 198]),
        ("qwen2.5", "<think>\n\n</think>\n", [13708, 766, 1339, 522, 26865, 397]),
        ("qwen3", "<think>\n\n</think>\n", [151667, 271, 151668, 198]),
        ("qwen2.5", '<tool_call>{"a": 1}</tool_call>',
         [151657, 4913, 64, 788, 220, 16, 92, 151658]),
        ("qwen2.5", "cafe\u0301 <|im_end|>\u0301", [924, 58858, 220, 151645, 53839]),
        ("qwen2.5", "a\r\n\r\n  b", [64, 871, 220, 293]),
        ("qwen2.5", "12345 x", [16, 17, 18, 19, 20, 856]),
        ("qwen2.5", "I'll don't", [40, 3278, 1513, 944]),
        ("qwen3.6", "<|im_start|>user\nHello, world!<|im_end|>\n<think>",
         [248045, 846, 198, 9419, 11, 1814, 0, 248046, 198, 248068]),
        ("qwen3.6", "नमस्ते cafe\u0301", [58069, 84237, 150104, 153348, 50203]),
        ("qwen2.5", "", []),
    ],
)  # fmt: skip
def test_ids(generation: str, text: str, ids: list[int]) -> None:
    assert load(generation).encode(text) == ids


def test_qwen_2_knows_three_special_tokens() -> None:
    assert load("qwen2").special == {
        "<|endoftext|>": 151643,
        "<|im_start|>": 151644,
        "<|im_end|>": 151645,
    }
    assert 151657 not in load("qwen2").encode("<tool_call>")


def test_special_tokens_follow_on_the_ranks() -> None:
    assert {name: (min(of.values()), max(of.values())) for name, of in SPECIAL.items()} == {
        "qwen2": (151643, 151645),
        "qwen2.5": (151643, 151664),
        "qwen3": (151643, 151668),
        "qwen3.6": (248044, 248076),
    }


def test_long_runs_are_encoded() -> None:
    of = load("qwen2.5")
    assert len(of.encode(" " * 100_000)) == 782
    assert len(of.encode("a" * 100_000)) == 12_500
    assert len(of.encode("\n" * 100_000)) == 3_125
