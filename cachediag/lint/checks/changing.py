"""G09: tools that differ from those of the request before."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cachediag.analysis import Walk
from cachediag.analysis.tokenview import Counter, token_view
from cachediag.findings import load
from cachediag.lint.schemas import Asked, Collected
from cachediag.model import PROMPT_ENDPOINTS, Excerpt, Finding, Prompt
from cachediag.protocol import jsontext
from cachediag.session.source import Source

__all__ = ["Change", "changes", "check"]

_FIELDS = ("tools", "functions")


@dataclass(slots=True)
class Change:
    """One way in which the tools change, and the requests in which they do."""

    found: Finding
    """What the comparison calls it, in the first of these requests."""
    requests: list[int] = field(default_factory=list)
    tokens: int = 0
    """Tokens that are prefilled again because of it, in all of them."""
    schemas: int = 0
    """Schemas that were new in these requests, and are compiled anew."""


def check(
    source: Source, collected: Collected, counter: Callable[[], Counter]
) -> Iterator[tuple[int, Finding]]:
    """Find what ended the shared prefix in the tools, and what that costs.

    The arguments are those of `changes`.
    """
    for change in changes(source, collected, counter):
        yield change.requests[0], _finding(change)


def changes(
    source: Source, collected: Collected, counter: Callable[[], Counter]
) -> tuple[Change, ...]:
    """Gather what ended the shared prefix in the tools, by kind and place.

    Args:
        source: the session.
        collected: what each of its requests asks for.
        counter: makes what counts tokens as the backend does, where there is anything to count.
    """
    if len({(each.tools, each.names) for each in collected.requests}) <= 1:
        return ()
    count = counter()
    asked = {each.request: each for each in collected.requests}
    walk = Walk(source.exchange, count.profile, count.parser)
    gathered: dict[tuple[str, str], Change] = {}
    for exchange in source.exchanges():
        if exchange.info.endpoint not in PROMPT_ENDPOINTS:
            continue
        request = walk.step(exchange)
        found = [each for each in request.breaks if _is_of_tools(each)]
        if not found or request.comparison is None or request.parent is None:
            continue
        if not _generates(request.prompt):
            continue
        view = token_view(request.comparison, count)
        own, before = asked.get(request.info.index), asked.get(request.parent)
        new = _new(own, before, collected) if own and before else 0
        for each in found:
            change = gathered.setdefault((each.code, each.path or ""), Change(each))
            change.requests.append(request.info.index)
            change.tokens += view.lost.get((each.code, each.path), 0)
            change.schemas += new
    return tuple(gathered.values())


def _new(own: Asked, before: Asked, collected: Collected) -> int:
    """How many schemas are not among the earlier ones; a tool may be described anew alone."""
    numbers = {*own.tools} - {*before.tools}
    earlier = (
        {jsontext.encode(collected.schemas[n].schema) for n in before.tools} if numbers else ()
    )
    return len({jsontext.encode(collected.schemas[n].schema) for n in numbers}.difference(earlier))


def _generates(prompt: Prompt | None) -> bool:
    """Whether a request makes the model write: one that only counts tokens has no bound on them."""
    return prompt is not None and (prompt.endpoint != "messages" or "max_tokens" in prompt.params)


def _is_of_tools(found: Finding) -> bool:
    path = found.path or ""
    return any(path == name or path.startswith(f"{name}[") for name in _FIELDS)


def _finding(change: Change) -> Finding:
    found = change.found
    times = len(change.requests)
    where = f"request {change.requests[0]}" if times == 1 else f"{times} requests"
    new = f", {change.schemas:,} schemas to compile" if change.schemas else ""
    if change.schemas == 1:
        new = ", one schema to compile"
    return Finding(
        code="G09",
        severity="cost",
        path=found.path,
        byte=found.byte,
        before=found.before,
        after=found.after or Excerpt(""),
        tokens_lost=change.tokens,
        message=f"{found.code} {load(found.code).title} in {where}: {change.tokens:,} tokens to"
        f" prefill again{new}.",
        fix=found.fix or load(found.code).fix or load("G09").fix,
    )
