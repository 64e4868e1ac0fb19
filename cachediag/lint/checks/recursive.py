"""G06: a schema that contains itself."""

from collections.abc import Iterator
from functools import cache

from cachediag.lint.checks.subject import Subject, finding
from cachediag.lint.parts import parts
from cachediag.lint.references import MISSING, is_local, resolve
from cachediag.model import Finding, Json
from cachediag.protocol.jsontext import step

__all__ = ["check"]

_MOST = 2000
_MOST_PARTS = 200_000


def check(subject: Subject) -> Iterator[Finding]:
    """Find the first reference from which its own target is reached again."""
    root = subject.schema.schema
    inside = _Inside(root)
    for part in subject.parts.all:
        reference = part.schema.get("$ref")
        if isinstance(reference, str) and is_local(reference) and inside.comes_back(reference):
            yield finding(
                "G06",
                step(part.path, "$ref"),
                "The schema contains itself, so that output may be nested without end; Outlines"
                " follows it a few levels only.",
                shown=reference,
            )
            return


class _Inside:
    """Which references stand where another leads, each looked up once."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._left = _MOST_PARTS
        self._further = cache(self._look)
        self.comes_back = cache(self._comes_back)

    def _comes_back(self, start: str) -> bool:
        """Whether a reference is reached again from where it leads."""
        seen, waiting = {start}, [start]
        while waiting and len(seen) < _MOST:
            for further in self._further(waiting.pop()):
                if further == start:
                    return True
                if further not in seen:
                    seen.add(further)
                    waiting.append(further)
        return False

    def _look(self, reference: str) -> tuple[str, ...]:
        # References into one another's inside have the same parts walked again and again.
        target = MISSING if self._left <= 0 else resolve(self._root, reference)
        if target is MISSING:
            return ()
        inner = parts(target, "").all
        self._left -= len(inner)
        references = (part.schema.get("$ref") for part in inner)
        return tuple(dict.fromkeys(r for r in references if isinstance(r, str) and is_local(r)))
