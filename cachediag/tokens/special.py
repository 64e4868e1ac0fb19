"""Finding special tokens in a text, which every tokenizer does before anything else."""

import re
from collections.abc import Iterable

__all__ = ["pattern"]


def pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for the leftmost, longest special token; None where there is none.

    The token is the one group, so that `split` gives text and tokens in turn.
    """
    longest_first = sorted(texts, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None
