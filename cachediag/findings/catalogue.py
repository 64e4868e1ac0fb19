"""Loading the pages."""

import difflib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from cachediag.errors import UsageError
from cachediag.model import Severity

__all__ = ["Page", "all_codes", "load"]

_FENCE = "+++\n"


@dataclass(frozen=True, slots=True)
class Page:
    """What there is to know about one finding."""

    code: str
    title: str
    """A short noun phrase: `billing header`."""
    severity: Severity
    """The severity it is usually reported with."""
    fix: str
    """A client switch, or what to change, in one line; empty where there is nothing to do."""
    text: str
    """The page in Markdown, from its first second-level heading on."""
    rule: bool = False
    """`cachediag rules new` knows a rule that answers it."""


@cache
def all_codes() -> tuple[str, ...]:
    """Every code that has a page, in the order of the catalogue: V, O, S, E, M, P, G, N."""
    names = (entry.name for entry in files(__package__).iterdir())
    codes = (name.removesuffix(".md") for name in names if name.endswith(".md"))
    return tuple(sorted(codes, key=lambda code: ("VOSEMPGN".index(code[0]), code)))


def load(code: str) -> Page:
    """The page of a finding.

    Args:
        code: its code, in either case.

    Raises:
        UsageError: there is no such finding.
    """
    wanted = code.strip().upper()
    if wanted not in all_codes():
        near = difflib.get_close_matches(wanted, all_codes(), n=3, cutoff=0.6) or _called(wanted)
        raise UsageError(
            f"no finding has the code {code!r}",
            remedy=f"{_did_you_mean(near)}List them all: cachediag explain",
        )
    return _read(wanted)


def _called(word: str) -> list[str]:
    """The codes of up to three findings whose titles hold a word; none where there are more."""
    codes = [code for code in all_codes() if word and word in _read(code).title.upper()]
    return codes if len(codes) <= 3 else []


def _did_you_mean(near: list[str]) -> str:
    return f"Did you mean {' or '.join(near)}? " if near else ""


@cache
def _read(code: str) -> Page:
    source = files(__package__).joinpath(f"{code}.md").read_text(encoding="utf-8")
    _, front, text = source.split(_FENCE, 2)
    return Page(**tomllib.loads(front), text=text.strip() + "\n")
