"""Requests made of few blocks, with keys that tell all that stands before them."""

from itertools import accumulate
from typing import Any

from hypothesis import strategies as st

from cachediag.simulate.model import Request

BASE = 10


def chained(digits: str) -> tuple[int, ...]:
    """The keys of a prompt whose blocks have these contents: `134` is 11, 113, 1134."""
    return tuple(accumulate(map(int, digits), lambda key, digit: key * BASE + digit, initial=1))[1:]


def request(digits: str = "", *, kept: str | None = None, block: int = 4, **given: Any) -> Request:
    """A request of whole blocks, unless it is said how many tokens it has."""
    asked = {
        "arrival": 0.0,
        "session": "0",
        "blocks": chained(digits),
        "input_tokens": block * len(digits),
        "output_tokens": 1,
        "kept": None if kept is None else chained(kept),
        **given,
    }
    return Request(**asked)


digits = st.text("012", max_size=7)
"""Prompts that have much in common."""
