"""Any `tokenizer.json`, the file that Hugging Face and MLX engines read.

Most are byte-level byte-pair encoders whose pre-tokenizer is one of a few patterns. Those are given
to tiktoken, which gives the same ids ten times as fast. All others are read by the `tokenizers`
library itself, the one the engines use, where it is installed.

Why the ids are the same: tiktoken merges the neighbours whose union has the lowest id, the library
the pair that stands first in the list of merges. Where unions stand in the list in the order of
their ids, a token comes of only one pair: within its bytes, until it is made, the same merges
happen in the same order wherever these bytes stand.
"""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from cachediag.errors import InputError
from cachediag.model import Json
from cachediag.protocol import jsontext
from cachediag.tokens.tokenizers.bytepairs import PATTERNS, BytePairs, encoding
from cachediag.tokens.tokenizers.library import Library

__all__ = ["BYTES", "load"]

_MOST_IDS = 1 << 24
"""Far more tokens than any vocabulary has."""
_NO_FLAGS = ("lstrip", "rstrip", "normalized", "single_word")


def load(path: Path, config: Json = None) -> BytePairs | Library:
    """The tokenizer of a `tokenizer.json`.

    Args:
        path: the file.
        config: the `tokenizer_config.json` beside it, which may name further special tokens.

    Raises:
        InputError: it is no such file.
        UsageError: it needs the `tokenizers` library, which is not installed.
    """
    try:
        data = jsontext.decode(path.read_bytes())
        model, added = data["model"], _with_configured(data.get("added_tokens") or [], config)
        _check_ids(model, added)
        fast = _byte_pairs(str(path), data, model, added)
    except (KeyError, TypeError, AttributeError, ValueError, InputError):
        raise InputError(
            "not a tokenizer.json", where=str(path), remedy="Give a file that a model came with."
        ) from None
    return fast or Library(path, data | {"added_tokens": added})


def _check_ids(model: Json, added: list[Json]) -> None:
    """See that no id is so large that a list of all tokens would fill the memory.

    Raises:
        ValueError: one is.
    """
    vocabulary = model.get("vocab")
    ids = vocabulary.values() if isinstance(vocabulary, dict) else ()
    if any(not 0 <= number < _MOST_IDS for number in (*ids, *(token["id"] for token in added))):
        raise ValueError


def _with_configured(added: list[Json], config: Json) -> list[Json]:
    """The special tokens of both files; the configuration's count only where they are new."""
    known = {token["content"] for token in added}
    further = ((config or {}).get("added_tokens_decoder") or {}).items()
    new = [{"id": int(id_), **token} for id_, token in further if token["content"] not in known]
    return [*added, *new]


def _byte_pairs(name: str, data: Json, model: Json, added: list[Json]) -> BytePairs | None:
    """The tokenizer as tiktoken can run it; None where it would give other ids."""
    pattern = _pattern(data.get("pre_tokenizer"))
    normal_forms = _normal_forms(data.get("normalizer"))
    if (
        pattern not in PATTERNS
        or normal_forms not in ([], ["NFC"])
        or any(token.get(flag) for token in added for flag in _NO_FLAGS)
        or not _is_plain(model)
    ):
        return None
    special = {token["content"]: token["id"] for token in added}
    vocabulary = {token: id_ for token, id_ in model["vocab"].items() if token not in special}
    if not _in_order(model["merges"], vocabulary):
        return None
    ranks = {token.translate(BYTES).encode("latin-1"): id_ for token, id_ in vocabulary.items()}
    return BytePairs(name, encoding(name, ranks, pattern), special, nfc=bool(normal_forms))


def _pattern(pre_tokenizer: Json) -> str | None:
    """The pattern, where text is parted by one and then taken as bytes."""
    match pre_tokenizer:
        case {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": str(pattern)},
                    "behavior": "Isolated",
                } as split,
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            ],
        } if not split.get("invert"):
            return pattern
    return None


def _normal_forms(normalizer: Json) -> list[str]:
    """The names of all normalizers."""
    if normalizer is None:
        return []
    if normalizer["type"] == "Sequence":
        return [form for part in normalizer["normalizers"] for form in _normal_forms(part)]
    return [normalizer["type"]]


def _is_plain(model: Json) -> bool:
    """Whether nothing but bytes and merges decides."""
    options = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    return (
        model["type"] == "BPE"
        and not any(model.get(option) for option in (*options, "byte_fallback"))
        and all(byte in model["vocab"] for byte in map(chr, BYTES))
    )


def _in_order(merges: Iterable[str | list[str]], vocabulary: dict[str, int]) -> bool:
    """Whether every token but the bytes comes of merges, and these are in the order of ids."""
    pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in merges)
    made = ["".join(pair) for pair in pairs]
    ids = [vocabulary[token] for token in made]
    return len(set(ids)) == len(vocabulary) - 256 and all(a <= b for a, b in pairwise(ids))


def _byte_table() -> dict[int, int]:
    """How `tokenizer.json` spells bytes: those that print as themselves, the others from 256 on."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printing]
    return {byte: byte for byte in printing} | {256 + n: byte for n, byte in enumerate(others)}


BYTES = _byte_table()
"""What byte each of the characters stands for by which `tokenizer.json` spells tokens."""
