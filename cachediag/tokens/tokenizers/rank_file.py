"""A tiktoken rank file by its path.

The file holds no pattern and no special tokens, so only files of known vocabularies can be used;
they are told by the number of their ranks.
"""

from pathlib import Path

from cachediag.errors import InputError
from cachediag.tokens.tokenizers.bytepairs import QWEN_2, QWEN_3_5, BytePairs, encoding, read_ranks
from cachediag.tokens.tokenizers.openai import FILES
from cachediag.tokens.tokenizers.qwen import SPECIAL

__all__ = ["load"]

_KNOWN = {
    151_643: (QWEN_2, SPECIAL["qwen3"], True),
    248_044: (QWEN_3_5, SPECIAL["qwen3.6"], True),
    100_256: (FILES["cl100k"].pattern, FILES["cl100k"].special, False),
    199_998: (FILES["o200k"].pattern, FILES["o200k"].special, False),
}


def load(path: Path) -> BytePairs:
    """The tokenizer of a rank file; one of Qwen 2 to 3 is taken to be Qwen 3's.

    Raises:
        InputError: it is no rank file, or of a vocabulary that is not known.
    """
    try:
        ranks = read_ranks(path.read_bytes())
    except ValueError:
        raise InputError(
            "not a tiktoken rank file", where=str(path), remedy="Give a tokenizer.json."
        ) from None
    if len(ranks) not in _KNOWN:
        raise InputError(
            f"a rank file of {len(ranks):,} ranks, which belongs to no known tokenizer",
            where=str(path),
            remedy="Give the model's tokenizer.json, which says how text is parted.",
        )
    pattern, special, nfc = _KNOWN[len(ranks)]
    return BytePairs(str(path), encoding(path.name, ranks, pattern), special, nfc=nfc)
