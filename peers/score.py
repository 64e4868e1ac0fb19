"""Whether what a tool says of a case is right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from peers.case import Case, fits
from peers.tool import Heard, Tool

__all__ = ["Asked", "Judged", "Score", "asked", "judge", "score"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A case within what a tool claims to do."""

    case: Case
    causes: tuple[str, ...]
    """The codes that the tool must find; none where it must only be quiet."""
    quiet: bool
    """A near-miss of something that it claims to see, or a case with nothing to find."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a tool made of one case."""

    asked: Asked
    found: bool | None
    """None where there is nothing that the tool must find."""
    placed: bool | None
    """None where the answer has no place, as for a lifetime that ran out."""
    false_alarm: bool | None
    """None where the case is no near-miss."""
    bare_alarm: bool | None = None
    """The same with `cache_control` taken out, of a tool that does not know it."""
    seconds: float
    heard: tuple[Heard, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A tool's sums."""

    tool: Tool
    causes: int
    """Cases with a cause that it claims to see."""
    found: int
    placeable: int
    """Of the cases with a cause those whose answer has a place."""
    placed: int
    """The cause is found, and the place told for it is right."""
    quiet: int
    false_alarms: int
    bare_alarms: int | None
    """Those that are left with `cache_control` taken out; None where the tool knows it."""
    seconds: float
    """Wall time of the tool's processes for all its cases."""
    judged: tuple[Judged, ...]

    def as_json(self) -> dict[str, Any]:
        """The sums, and what was said of each case."""
        return {
            "tool": self.tool.name,
            "version": self.tool.version,
            "causes": self.causes,
            "found": self.found,
            "placeable": self.placeable,
            "placed": self.placed,
            "quiet": self.quiet,
            "false_alarms": self.false_alarms,
            "false_alarms_without_markers": self.bare_alarms,
            "seconds": round(self.seconds, 2),
            "cases": [_as_json(each) for each in self.judged],
        }


def asked(tool: Tool, cases: Iterable[Case]) -> list[Asked]:
    """The cases within what a tool claims to do."""
    inside = []
    for case in cases:
        if tool.outside(case) is not None:
            continue
        seen = tool.codes.difference(tool.unasked.get(case.name, ()))
        causes = tuple(code for code in case.causes if code in seen)
        quiet = case.near_miss_of in tool.codes if case.near_miss_of else not case.causes
        quiet = quiet or not case.causes
        if causes or quiet:
            inside.append(Asked(case, causes, quiet))
    return inside


def judge(tool: Tool, question: Asked, heard: Sequence[Heard], seconds: float) -> Judged:
    """Hold what a tool said of a case against the answer."""
    case = question.case
    found = {code: [h for h in heard if code in tool.words[h.word]] for code in question.causes}
    placed = {
        code: [h for h in found[code] if _at(h, case, code)]
        for code in question.causes
        if case.causes[code]
    }
    enough = all if tool.every else any
    alarms = [h for h in heard if tool.words[h.word] and not h.suspicion]
    false = [h for h in alarms if not case.causes.keys() & set(tool.words[h.word])]
    return Judged(
        asked=question,
        found=enough(map(bool, found.values())) if found else None,
        placed=enough(map(bool, placed.values())) if placed else None,
        false_alarm=bool(false) if question.quiet else None,
        seconds=seconds,
        heard=tuple(heard),
    )


def score(tool: Tool, judged: Sequence[Judged]) -> Score:
    """Add up what a tool made of its cases."""
    return Score(
        tool=tool,
        causes=sum(each.found is not None for each in judged),
        found=sum(each.found is True for each in judged),
        placeable=sum(each.placed is not None for each in judged),
        placed=sum(each.placed is True for each in judged),
        quiet=sum(each.false_alarm is not None for each in judged),
        false_alarms=sum(each.false_alarm is True for each in judged),
        bare_alarms=None if tool.markers else sum(each.bare_alarm is True for each in judged),
        seconds=sum(each.seconds for each in judged),
        judged=tuple(judged),
    )


def _at(heard: Heard, case: Case, code: str) -> bool:
    if heard.token is not None:
        return bool(heard.token == case.answer["shared_tokens"])
    return heard.path is not None and any(fits(heard.path, path) for path in case.causes[code])


def _as_json(judged: Judged) -> dict[str, Any]:
    return {
        "case": judged.asked.case.name,
        "causes": list(judged.asked.causes),
        "found": judged.found,
        "placed": judged.placed,
        "false_alarm": judged.false_alarm,
        "false_alarm_without_markers": judged.bare_alarm,
        "seconds": round(judged.seconds, 3),
        "heard": [
            {"word": h.word, "path": h.path, "token": h.token, "suspicion": h.suspicion}
            for h in judged.heard
        ],
    }
