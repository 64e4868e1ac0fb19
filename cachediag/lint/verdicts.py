"""What each decoder makes of a schema: compiles it, ignores parts of it, or refuses it."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from cachediag.lint import support
from cachediag.lint.decoders import READERS
from cachediag.lint.decoders.reading import Child, Refused
from cachediag.lint.keywords import depth_of
from cachediag.model import Json
from cachediag.protocol.jsontext import step

__all__ = ["DECODERS", "Ignored", "Outcome", "Verdict", "verdict"]

Outcome = Literal["compiles", "ignores", "rejects", "unknown"]
"""`unknown`: the schema is too large to be judged without compiling it."""

DECODERS: Final = tuple(READERS)
_MOST_PARTS = 50_000
_SURROGATE = re.compile("[\ud800-\udfff]").search


@dataclass(frozen=True, slots=True)
class Ignored:
    """A keyword that a decoder leaves out: output that violates it is let through."""

    path: str
    """JSON path of the keyword in the schema."""
    keyword: str
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one decoder makes of one schema."""

    decoder: str
    outcome: Outcome
    ignored: tuple[Ignored, ...] = ()
    """What it leaves out, where it compiles the schema."""
    reason: str | None = None
    """Why it refuses the schema."""
    path: str | None = None
    """Where in the schema the reason lies; empty for the schema itself."""


def verdict(schema: Json, decoder: str) -> Verdict:
    """Tell what a decoder makes of a schema, without asking it.

    Args:
        schema: any JSON.
        decoder: one of `DECODERS`.
    """
    known = support.table(decoder)
    if known.reads_text and not _is_text(schema):
        return Verdict(decoder, "rejects", reason="a lone surrogate, which is no text", path="")
    if known.deepest is not None and depth_of(schema) > known.deepest:
        why = f"nested deeper than {known.deepest} levels"
        return Verdict(decoder, "rejects", reason=why, path="")
    reader = READERS[decoder](schema, known)
    ignored: dict[Ignored, None] = {}
    waiting, seen = [Child("", schema)], set[tuple[int, bool]]()
    path = ""
    try:
        while waiting:
            part = waiting.pop()
            # A part that several references lead to is one object.
            if (id(part.schema), part.quiet) in seen and isinstance(part.schema, dict):
                continue
            seen.add((id(part.schema), part.quiet))
            if len(seen) > _MOST_PARTS:
                return Verdict(decoder, "unknown", reason="too large to be judged")
            path = part.path
            reading = reader.read(part.schema, path, quiet=part.quiet)
            if not part.quiet:
                for keyword, why in reading.ignored:
                    ignored[Ignored(step(path, keyword), keyword, why)] = None
            waiting += reversed(reading.children)
        path = ""
        reader.finish()
    except Refused as refused:
        at = path if refused.keyword is None else step(path, refused.keyword)
        return Verdict(decoder, "rejects", reason=refused.why, path=at)
    return Verdict(decoder, "ignores" if ignored else "compiles", tuple(ignored))


def _is_text(schema: Json) -> bool:
    """Whether a schema can be written in UTF-8."""
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        texts: list[Json] = []
        if isinstance(each, dict):
            texts += each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
        else:
            texts.append(each)
        # Nearly all text is ASCII, which costs nothing to tell.
        if any(isinstance(text, str) and not text.isascii() and _SURROGATE(text) for text in texts):
            return False
    return True
