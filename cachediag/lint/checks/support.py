"""G02 and G03: keywords that a decoder leaves out, and schemas that it refuses."""

from collections.abc import Iterator

from cachediag.lint.checks.subject import Subject, finding
from cachediag.model import Finding, Severity, below
from cachediag.words import listing

__all__ = ["check"]


def check(subject: Subject) -> Iterator[Finding]:
    """Say which decoders leave out what, and which refuse the schema."""
    yield from _ignored(subject)
    yield from _refused(subject)


def _severity(subject: Subject, concerned: int) -> Severity:
    """A cost only where one of them is sure to be at work, and whichever it is does so."""
    return "cost" if subject.is_binding and concerned == len(subject.verdicts) else "info"


def _ignored(subject: Subject) -> Iterator[Finding]:
    leaving = [each for each in subject.verdicts if each.outcome == "ignores"]
    if not leaving:
        return
    by_place: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for each in leaving:
        for one in each.ignored:
            by_place.setdefault((one.path, one.keyword), []).append((each.decoder, one.why))
    # The keyword that most decoders leave out first.
    (path, keyword), who = max(by_place.items(), key=lambda item: len(item[1]))
    severity = _severity(subject, len(who))
    others = len(by_place) - 1
    more = f" {others} more in this schema." if others else ""
    whys = listing(dict.fromkeys(why for _, why in who))
    yield finding(
        "G02",
        below(subject.schema.path, path),
        f"{listing(name for name, _ in who)} let through what `{keyword}` forbids ({whys}).{more}",
        severity=severity,
        confidence="confirmed" if subject.is_decoded else "suspected",
    )


def _refused(subject: Subject) -> Iterator[Finding]:
    refusing = [each for each in subject.verdicts if each.outcome == "rejects"]
    if not refusing:
        return
    first = refusing[0]
    yield finding(
        "G03",
        below(subject.schema.path, first.path or ""),
        f"{listing(each.decoder for each in refusing)} refuse{'s' * (len(refusing) == 1)} the"
        f" schema: {first.reason}.",
        severity=_severity(subject, len(refusing)),
        confidence="confirmed" if subject.is_decoded else "suspected",
    )
