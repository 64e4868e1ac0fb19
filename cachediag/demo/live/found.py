"""What is found in the live demo's session: the causes, and the rules that remove them."""

from dataclasses import dataclass
from pathlib import Path

from cachediag.analysis import Request, Walk
from cachediag.analysis.choice import Choice
from cachediag.analysis.tokenview import TokenView, counted, token_view
from cachediag.capture.importers import open_source
from cachediag.compare import Comparison, compare
from cachediag.demo.live.recorded import prefix_tokens
from cachediag.report.session import Tally, tally
from cachediag.rules.generate import Generated, generate
from cachediag.session import Source

__all__ = ["Found", "Pair", "find"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two requests, one of which breaks a prefix of the other."""

    a: int
    b: int
    comparison: Comparison
    view: TokenView


@dataclass(frozen=True, slots=True)
class Found:
    """What a session holds."""

    source: Source
    requests: tuple[Request, ...]
    causes: tuple[Tally, ...]
    pair: Pair | None
    """Where the most frequent cause was seen first; None where there is no cause."""
    generated: Generated
    prompt_tokens: tuple[int, ...]
    """Of each request."""
    prefix_tokens: int
    """Of the longest part that tools and system prompt of a request make up."""


def find(path: Path, choice: Choice, model: str) -> Found:
    """Look for the causes of a session, and write rules against them.

    Args:
        path: the session file.
        choice: what to count by.
        model: how its model was named, to be noted in the rules.
    """
    opened, counter = open_source(path), choice.counter
    exchanges = [each for each in opened.exchanges() if each.info.endpoint == "messages"]
    walk = Walk(opened.exchange, counter.profile, counter.parser)
    requests = tuple(walk.step(each).light() for each in exchanges)
    causes = tally(requests)
    prompts = [counter.parser.parse(each.request, each.info.endpoint) for each in exchanges]
    return Found(
        source=opened,
        requests=requests,
        causes=causes,
        pair=_pair(opened, causes[0], choice) if causes else None,
        generated=generate(opened, choice, model),
        prompt_tokens=tuple(len(counter.tokens(prompt)) for prompt in prompts),
        prefix_tokens=max(prefix_tokens(each.request, counter) for each in exchanges),
    )


def _pair(opened: Source, cause: Tally, choice: Choice) -> Pair:
    counter = choice.counter
    first, second = (
        counter.parser.parse(opened.exchange(number).request, "messages")
        for number in (cause.parent, cause.first)
    )
    comparison = compare(first, second, counter.profile)
    view = token_view(comparison, counter)
    return Pair(cause.parent, cause.first, counted(comparison, view), view)
