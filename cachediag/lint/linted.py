"""A session's schemas, judged: the findings, and what each decoder makes of each schema."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachediag.lint.schemas import Collected, Schema, collect
from cachediag.lint.verdicts import Verdict, verdict
from cachediag.model import Finding
from cachediag.session.source import Source

__all__ = ["DECODERS", "Found", "Linted", "lint"]

DECODERS = ("xgrammar", "llguidance", "lm-format-enforcer", "outlines")


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

    def of(self, schema: Schema) -> tuple[Found, ...]:
        """What was found in one schema."""
        number = self.collected.schemas.index(schema)
        return tuple(each for each in self.found if each.schema == number)


def lint(source: Source, decoders: Sequence[str] = DECODERS) -> Linted:
    """Judge the schemas of a session."""
    collected = collect(source.exchanges())
    verdicts = tuple(
        tuple(verdict(each.schema, name) for name in decoders) for each in collected.schemas
    )
    return Linted(collected, tuple(decoders), verdicts, ())
