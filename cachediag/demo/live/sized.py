"""The demo's main conversation, cut short and made as long as is asked for, for a real engine.

A prefill on a processor takes seconds for every request: four requests show a cold turn, two tool
results and the next user turn. What changes the length stands at the head, in the tools and the
system prompt, where it is what a cache could keep.
"""

import random
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources

from cachediag.demo.script import Lane, script
from cachediag.errors import UsageError
from cachediag.model import Json

__all__ = ["MOST_TOKENS", "conversation"]

MOST_TOKENS = 28_000
"""The sandbox's model has room for 32,768 tokens, the talk among them."""

_STEPS = (0, 3, 5, 6)
_KEPT_TOOLS = ("Edit", "Grep")
_FIRST_YEAR = 1926


def conversation(tokens: int, model: str, prefix: Callable[[Lane], int]) -> Lane:
    """Make the conversation with a prefix of at least so many tokens.

    It has as few tools as that takes, and where all of them are too few, a longer system prompt.
    Its shortest prefix is of about 4,000 tokens.

    Args:
        tokens: how long the part is to be that tools and system prompt make up.
        model: the model's name in the requests.
        prefix: counts the tokens of that part.

    Raises:
        UsageError: the sandbox's model has no room for it.
    """
    if tokens > MOST_TOKENS:
        raise UsageError(
            f"--tokens {tokens} is more than the sandbox's model has room for",
            remedy=f"Give {MOST_TOKENS} at most.",
        )
    whole = script().main
    short = replace(whole, model=model, steps=tuple(whole.steps[number] for number in _STEPS))
    return next(lane for lane in _growing(short) if prefix(lane) >= tokens)


def _growing(lane: Lane) -> Iterator[Lane]:
    """The lane with more and more at its head, without end."""
    names = [tool["name"] for tool in lane.tools if tool["name"] not in _KEPT_TOOLS]
    for number in range(len(names) + 1):
        kept = {*_KEPT_TOOLS, *names[:number]}
        yield replace(lane, tools=tuple(tool for tool in lane.tools if tool["name"] in kept))
    identity, instructions, environment = lane.system
    text = instructions["text"] + "\n\nWhat the almanac holds:\n"
    for lines in _almanac():
        text += lines
        yield replace(lane, system=(identity, instructions | {"text": text}, environment))


def _almanac() -> Iterator[str]:
    """Lines about one year after another."""
    words = tomllib.loads(
        resources.files("cachediag.demo").joinpath("words.toml").read_text(encoding="utf-8")
    )
    year = _FIRST_YEAR
    # Seeded, so that the lengths are the same each time.
    source = random.Random(_FIRST_YEAR)  # noqa: S311
    while True:
        yield "".join(_line(year, harbour, source) for harbour in words["project"]["harbours"])
        year += 1


def _line(year: int, harbour: Json, source: random.Random) -> str:
    highest, lowest = source.randint(380, 720), source.randint(-20, 110)
    return f"- {harbour}, {year}: heights from {lowest} to {highest} cm above chart datum.\n"
