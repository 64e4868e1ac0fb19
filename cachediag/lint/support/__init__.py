"""What each decoder supports of JSON Schema: one dated table a decoder, with its sources.

Each table was read off the decoder's documentation and source, and held against the decoder of the
version that it names: output that breaks a keyword was given to its matcher.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["Keyword", "Status", "Support", "table"]

Status = Literal["supported", "partly", "ignored", "rejected"]
"""`partly`: `note` says when, and what becomes of the rest."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """What becomes of one keyword."""

    status: Status
    note: str = ""


@dataclass(frozen=True, slots=True)
class Support:
    """One decoder's table."""

    decoder: str
    version: str
    """The release that it was held against."""
    date: str
    """When."""
    sources: tuple[str, ...]
    formats: frozenset[str]
    """The values of `format` that are enforced."""
    keywords: Mapping[str, Keyword]
    reads_text: bool
    """It is given the schema as JSON text, so that what cannot be written as text is refused."""
    deepest: int | None
    """How deeply that text may be nested; None without a bound."""

    def named(self, status: Status) -> frozenset[str]:
        """The keywords of one status."""
        return frozenset(name for name, each in self.keywords.items() if each.status == status)


@cache
def table(decoder: str) -> Support:
    """The table of one decoder, by its name: `xgrammar`, `lm-format-enforcer`, …."""
    name = f"{decoder.replace('-', '_')}.toml"
    read = tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return Support(
        decoder=read["decoder"],
        version=read["version"],
        date=read["date"],
        sources=tuple(read["sources"]),
        formats=frozenset(read["formats"]),
        reads_text=read["reads_text"],
        deepest=read.get("deepest"),
        keywords={
            word: Keyword(status, note[0] if note else "")
            for word, (status, *note) in read["keywords"].items()
        },
    )
