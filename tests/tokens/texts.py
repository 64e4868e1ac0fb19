"""Texts that tokenizers find hard, for the property tests, and small tokenizers to give them to."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

from cachediag.tokens.tokenizers.bytepairs import QWEN_2

__all__ = ["SPECIAL", "pieces", "surrogates", "texts", "trained", "written"]

SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<tool_call>", "</tool_call>")

_SOME = (
    *("word", "Word", "WORDS", "don't", "I'LL", "'s", "ſ", "K", "ﬀ", "ǅ", "ʰ", "ª"),
    *("0", "12345", "½", "²", "Ⅷ", "٣", "１"),
    *(" ", "  ", "    ", "\t", "\n", "\n\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\xa0"),
    *("\u1680", "\u2003", "\u2028", "\u202f", "\u3000", "\x1c", "\u180e", "\u200b", "\ufeff"),
    *(".", ",", "!", "/", "//", "\\n", '"', "{", "}", "=>", "---", "<", "|", ">", "<|", "|>"),
    *("<|im_", "start|>", "<|im_start", "im_end|>", "</tool_", "call>", "<|<|im_end|>"),
    *("e\u0301", "\u0301", "\u0323\u0307", "\u0307\u0323", "\u0338", "\u20e3", "\ufe0f"),
    *("\u1100\u1161\u11a8", "\u0958", "\u212b", "\u037e", "\u1fef", "\u0344", "가", "한글"),
    *("漢字", "かな", "カナ", "中文。", "Ελληνικά", "Русский", "עברית", "العربية", "हिन्दी", "ไทย"),
    *("አማርኛ", "தமிழ்", "မြန်မာ", "ខ្មែរ", "ᏣᎳᎩ", "𐌰𐌱", "𝔘𝔫𝔦", "\U0001f600", "🇩🇪", "👩\u200d💻"),
    *("\x00", "\x1b[31m", "\x7f", "\u202e", "\ue000", "\U0010ffff", "\ufffd", "\u0378"),
    *SPECIAL,
)

pieces = st.one_of(
    st.sampled_from(_SOME),
    st.text(max_size=12),
    st.text(alphabet=" \t\r\n", max_size=12),
    st.text(alphabet="ab \n/.é", max_size=12),
)
texts = st.lists(pieces, max_size=24).map("".join)
surrogates = st.lists(
    st.one_of(pieces, st.sampled_from(("\ud800", "\udfff", "\ud83d\ude00", "\ude00\ud83d"))),
    max_size=12,
).map("".join)


def trained(*, normalizer: Any = None, pre_tokenizer: Any = None, **model: Any) -> Tokenizer:
    """A small tokenizer of the library's own making, by default with Qwen's steps."""
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.normalizer = normalizer or normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN_2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        min_frequency=1,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator([" ".join(_SOME[: -len(SPECIAL)])] * 3, trainer)
    tokenizer.add_special_tokens(list(SPECIAL))
    return tokenizer


def written(tokenizer: Tokenizer, path: Path, **changed: Any) -> Path:
    """The tokenizer's `tokenizer.json`, some top-level fields replaced."""
    path.write_text(json.dumps(json.loads(tokenizer.to_str()) | changed), encoding="utf-8")
    return path
