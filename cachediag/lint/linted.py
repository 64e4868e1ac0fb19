"""A session's schemas, judged: the findings, and what each decoder makes of each schema."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cachediag.lint.checks import CHECKS, Subject, changing, names, tags, volatile
from cachediag.lint.parts import parts
from cachediag.lint.schemas import Collected, Schema, collect
from cachediag.lint.verdicts import DECODERS, Verdict, verdict
from cachediag.model import Finding
from cachediag.session.source import Source

if TYPE_CHECKING:
    from cachediag.analysis.tokenview import Counter

__all__ = ["Found", "Linted", "lint"]

_RANK = {"break": 0, "cost": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class Found:
    """One finding, and whose it is."""

    finding: Finding
    request: int
    """The request whose body `finding.path` points into."""
    schema: int | None = None
    """The schema, as a number into `Collected.schemas`; None where it is no single one's."""


@dataclass(frozen=True, slots=True)
class Linted:
    """All that is said of a session's schemas."""

    collected: Collected
    decoders: tuple[str, ...]
    verdicts: tuple[tuple[Verdict, ...], ...]
    """For each schema what each decoder makes of it, in the order of `decoders`."""
    found: tuple[Found, ...]
    """What costs something first, then in the order of the requests."""

    @property
    def costly(self) -> tuple[Found, ...]:
        """What costs tokens, time or a request that fails."""
        return tuple(each for each in self.found if each.finding.severity != "info")


def lint(
    source: Source,
    decoders: Sequence[str] = (),
    counter: "Callable[[], Counter] | None" = None,
    model: str | None = None,
) -> Linted:
    """Judge the schemas of a session.

    Args:
        source: the session.
        decoders: those that are known to be at work; where none is, all are asked.
        counter: makes what counts tokens, where the tools change; without it that is not looked
            for.
        model: the model that serves, where it is not the one that requests name.
    """
    collected = collect(source.exchanges())
    asked = tuple(decoders) or DECODERS
    verdicts = tuple(
        tuple(verdict(each.schema, name) for name in asked) for each in collected.schemas
    )
    found = [
        *_of_schemas(collected, verdicts, is_decoded=bool(decoders)),
        *(Found(each, request) for request, each in names.check(collected.requests)),
        *(Found(each, request) for request, each in tags.check(collected.instructions, model)),
    ]
    if counter is not None:
        changes = changing.check(source, collected, counter)
        found += [Found(each, request) for request, each in changes]
    found.sort(key=lambda each: (_RANK[each.finding.severity], each.finding.code, each.request))
    return Linted(collected, asked, verdicts, tuple(found))


def _of_schemas(
    collected: Collected, verdicts: Sequence[tuple[Verdict, ...]], *, is_decoded: bool
) -> Iterator[Found]:
    latest: dict[tuple[str, str | None], Schema] = {}
    for number, schema in enumerate(collected.schemas):
        inside = parts(schema.schema, schema.path)
        subject = Subject(schema, inside, verdicts[number], is_decoded)
        for check in CHECKS:
            for found in check(subject):
                yield Found(found, schema.request, number)
        if schema.name is not None:
            earlier = latest.get((schema.kind, schema.name))
            told = None if earlier is None else volatile.changed(earlier, schema)
            if told is not None:
                yield Found(told, schema.request, number)
            latest[schema.kind, schema.name] = schema
