"""What the schemas of a session cost to compile: each alone, and each request's tools together.

Three ways in which a server may go about it are measured: a new compiler for each request, one
compiler that is kept, and one that is kept and has seen all tools but one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from cachediag.lint.grammar.child import Child, Limits, Result
from cachediag.lint.grammar.engine import installed
from cachediag.lint.schemas import Collected, Schema
from cachediag.lint.structural_tag import SYNTAXES, Syntax, Tool, emit
from cachediag.model import Json

__all__ = ["Costs", "EngineCosts", "Group", "OneMore", "SchemaCost", "measure", "tool"]

_ROUNDS: Final = 3
_QUICK: Final = 2.0
_KEPT: Final = "kept"

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SchemaCost:
    """One schema, compiled alone on a compiler of its own."""

    schema: int
    """Number into `Collected.schemas`."""
    result: Result


@dataclass(frozen=True, slots=True)
class Group:
    """Requests that hold the same tools, compiled as one structural tag."""

    requests: tuple[int, ...]
    tools: tuple[int, ...]
    """Those that could be compiled alone, as numbers into `Collected.schemas`."""
    left_out: tuple[int, ...]
    """Those that could not."""
    new: int
    """Tools that no earlier request held."""
    fresh: Result
    """On a new compiler."""
    reused: Result | None
    """On a compiler that has compiled the tools of all earlier requests; None where it was lost
    with a process that had to be ended."""
    repeat: Result | None
    """On the same compiler, once more."""


@dataclass(frozen=True, slots=True)
class OneMore:
    """The largest group's tools where one is new, the one of median cost: medians of three."""

    tools: int
    new: int
    """The new tool, as a number into `Collected.schemas`."""
    fresh: float
    """Seconds on a new compiler."""
    shared: float
    """Seconds on a compiler that has compiled the others together."""


@dataclass(frozen=True, slots=True)
class EngineCosts:
    """What one engine took."""

    engine: str
    version: str
    syntax: str
    """Of the tool calls; JSON where the engine has no other."""
    load_seconds: float
    """To import the engine and read the tokenizer."""
    schemas: tuple[SchemaCost, ...]
    groups: tuple[Group, ...]
    one_more: OneMore | None
    """None where there are not two tools, or the engine's compiler remembers nothing."""

    @property
    def kept_seconds(self) -> float:
        """Of the whole session, on one compiler."""
        firsts = sum(_seconds(each.reused) for each in self.groups)
        return firsts + sum(
            _seconds(each.repeat) * (len(each.requests) - 1) for each in self.groups
        )

    @property
    def anew_seconds(self) -> float:
        """Of the whole session, on a new compiler for each request."""
        return sum(_seconds(each.fresh) * len(each.requests) for each in self.groups)


@dataclass(frozen=True, slots=True)
class Costs:
    """What the engines that are here took."""

    tokenizer: str
    limits: Limits
    engines: tuple[EngineCosts, ...]
    missing: tuple[str, ...]
    """Engines that are not installed."""


def measure(
    collected: Collected,
    *,
    tokenizer: str,
    syntax: Syntax,
    tell: Tell,
    limits: Limits | None = None,
) -> Costs:
    """Compile the schemas of a session.

    Args:
        collected: the schemas.
        tokenizer: what `cachediag.tokens.tokenizers.tokenizer` takes.
        syntax: of the tool calls.
        tell: told what is being done.
        limits: of each grammar; by default 20 s and 2 GiB.

    Raises:
        UsageError: no engine is installed, or one cannot be loaded.
    """
    found, missing = installed()
    bounds = limits or Limits()
    engines = []
    for name, version in found.items():
        written = syntax if syntax.is_json or name == "xgrammar" else SYNTAXES["hermes"]
        with Child(name, tokenizer, bounds) as child:
            engines.append(_measured(collected, child, version, written, tell))
    return Costs(tokenizer, bounds, tuple(engines), missing)


def tool(schema: Schema) -> Tool:
    """A tool's schema as a tool that can be called."""
    return Tool(schema.name or "tool", schema.schema)


def _measured(
    collected: Collected, child: Child, version: str, syntax: Syntax, tell: Tell
) -> EngineCosts:
    tell(f"loading {child.engine}")
    alone: list[SchemaCost] = []
    for number, schema in enumerate(collected.schemas):
        tell(f"{child.engine}: schema {number + 1} of {len(collected.schemas)}")
        alone.append(SchemaCost(number, _steady(child, _alone(schema, syntax))))
    good = {each.schema for each in alone if each.result.outcome == "compiled"}
    groups = tuple(_groups(collected, child, syntax, good, tell))
    one_more = _one_more(collected, child, syntax, groups, alone)
    return EngineCosts(
        child.engine, version, syntax.name, child.load_seconds, tuple(alone), groups, one_more
    )


def _steady(child: Child, tag: Json) -> Result:
    """The median of three, on new compilers; a single one where it takes long, or is refused."""
    first = child.compile(tag)
    if first.outcome != "compiled" or _seconds(first) > _QUICK:
        return first
    taken = [first, *(child.compile(tag) for _ in range(_ROUNDS - 1))]
    return sorted(taken, key=_seconds)[_ROUNDS // 2]


def _alone(schema: Schema, syntax: Syntax) -> Json:
    if schema.kind == "tool":
        return emit([tool(schema)], syntax)
    content = {"type": "json_schema", "json_schema": schema.schema}
    return {"type": "structural_tag", "format": content}


def _groups(
    collected: Collected, child: Child, syntax: Syntax, good: set[int], tell: Tell
) -> Iterator[Group]:
    requests: dict[tuple[int, ...], list[int]] = {}
    for asked in collected.requests:
        requests.setdefault(asked.tools, []).append(asked.request)
    seen: set[int] = set()
    lost = False
    for number, (tools, holders) in enumerate(requests.items()):
        kept = tuple(each for each in tools if each in good)
        if not kept:
            continue
        tell(f"{child.engine}: tools of requests, {number + 1} of {len(requests)}")
        tag = _together(collected, kept, syntax)
        fresh = _steady(child, tag)
        lost = lost or fresh.outcome not in ("compiled", "rejected")
        reused = None if lost else child.compile(tag, on=_KEPT)
        lost = lost or (reused is not None and reused.outcome not in ("compiled", "rejected"))
        yield Group(
            requests=tuple(holders),
            tools=kept,
            left_out=tuple(each for each in tools if each not in good),
            new=len({*kept} - seen),
            fresh=fresh,
            reused=reused,
            repeat=None if lost else child.compile(tag, on=_KEPT),
        )
        seen |= {*kept}


def _one_more(
    collected: Collected,
    child: Child,
    syntax: Syntax,
    groups: Sequence[Group],
    alone: Sequence[SchemaCost],
) -> OneMore | None:
    able = [each for each in groups if each.fresh.cache and len(each.tools) > 1]
    if not able:
        return None
    tools = max(able, key=lambda each: len(each.tools)).tools
    ranked = sorted(tools, key=lambda each: _seconds(alone[each].result))
    new = ranked[len(ranked) // 2]
    others = _together(collected, [each for each in tools if each != new], syntax)
    whole = _together(collected, tools, syntax)
    fresh, shared = [], []
    for number in range(_ROUNDS):
        fresh.append(child.compile(whole).seconds)
        child.compile(others, on=f"others-{number}")
        shared.append(child.compile(whole, on=f"others-{number}").seconds)
    taken = [[each for each in times if each is not None] for times in (fresh, shared)]
    if not all(taken):
        return None
    return OneMore(len(tools), new, median(taken[0]), median(taken[1]))


def _together(collected: Collected, tools: Sequence[int], syntax: Syntax) -> Json:
    return emit([tool(collected.schemas[each]) for each in tools], syntax)


def _seconds(result: Result | None) -> float:
    return 0.0 if result is None or result.seconds is None else result.seconds
