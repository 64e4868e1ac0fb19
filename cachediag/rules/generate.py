"""A session → the rules that remove its causes, each with the reasons that a reader needs."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cachediag.analysis.choice import Choice
from cachediag.findings import load
from cachediag.rules.making.drafting import drafted
from cachediag.rules.making.proposals import PROPOSALS
from cachediag.rules.making.proposals.proposed import Proposed
from cachediag.rules.making.proving import proved
from cachediag.rules.making.values import Found, beside, collect, compared, saved
from cachediag.rules.rule import RuleSet
from cachediag.session.source import Source

__all__ = ["Generated", "generate"]

_MOST_PATHS = 3


@dataclass(frozen=True, slots=True)
class Generated:
    """Rules for a session."""

    ruleset: RuleSet
    notes: Mapping[str, str]
    """For each rule, by its id, why it is there and what it does, a line each."""
    remarks: tuple[str, ...]
    """Of each kind of cause that no rule answers, what it is and what to do about it."""
    requests: int
    """Requests of the session that show any cause."""

    @property
    def foot(self) -> str:
        """What the file says at its end."""
        if not self.remarks:
            return ""
        return "\n\n".join(("Found as well, and answered by no rule:", *self.remarks))


def generate(source: Source, choice: Choice, model: str | None = None) -> Generated:
    """Make the rules for what breaks the prefixes of a session.

    Args:
        source: the session.
        choice: the profile whose order counts, and what to count tokens by.
        model: what was given as `--model`, to be noted.
    """
    costs = saved(source, choice.anew())
    found = collect(compared(source, choice), costs)
    proposals = proved(drafted(found, source.exchanges), source, choice) if found else ()
    # What is applied comes first.
    ordered = sorted(proposals, key=lambda each: not each.rule.enabled)
    answered = {(each.code, each.spot) for one in ordered for each in one.answers}
    left = [each for each in found if (each.code, each.spot) not in answered]
    return Generated(
        ruleset=RuleSet(tuple(each.rule for each in ordered), choice.counter.profile.name, model),
        notes={each.rule.id: _note(each, ordered) for each in ordered},
        remarks=tuple(_remarks([*left, *beside(costs, found)])),
        requests=len({request for each in found for request in each.requests}),
    )


def _note(each: Proposed, others: Sequence[Proposed]) -> str:
    lines = [f"{_titles(each)}, in {_cost(each.answers)}.", each.effect]
    beside = [
        other.rule.id
        for other in others
        if other is not each and {*other.answers} & {*each.answers}
    ]
    if beside:
        lines.append(f"It takes {' and '.join([each.rule.id, *beside])} together.")
    if each.caution:
        lines.append(f"Not enabled. {each.caution}.")
    return "\n".join(lines)


def _titles(each: Proposed) -> str:
    codes = dict.fromkeys(found.code for found in each.answers)
    return " and ".join(f"{code} {load(code).title}" for code in codes)


def _cost(found: Sequence[Found]) -> str:
    requests = len({request for each in found for request in each.requests})
    tokens = sum(each.tokens_lost for each in found)
    counted = f"{requests:,} request" + ("s" if requests != 1 else "")
    if not tokens:
        return counted
    about = "" if all(each.exact for each in found) else "about "
    return f"{counted}: {about}{tokens:,} tokens prefilled again"


def _remarks(left: Sequence[Found]) -> Iterator[str]:
    groups: defaultdict[tuple[str, str], list[Found]] = defaultdict(list)
    for each in left:
        groups[each.code, _reason(each)].append(each)
    for (code, reason), group in groups.items():
        page = load(code)
        advice = f" What to do: {page.fix}." if page.fix else ""
        shown = f"{code} {page.title}, {_paths(group)}in {_cost(group)}"
        yield f"{shown}. No rule: {reason}.{advice}"


def _paths(group: Sequence[Found]) -> str:
    paths = list(dict.fromkeys(each.spot.path for each in group if each.spot.path))
    more = len(paths) - _MOST_PATHS
    shown = ", ".join(paths[:_MOST_PATHS]) + (f" and {more} more" if more > 0 else "")
    return f"at {shown}, " if shown else ""


def _reason(each: Found) -> str:
    if each.code[0] == "P":
        return "the engine decides it, not the text"
    if each.code not in PROPOSALS:
        return "none can undo it"
    if each.spot.role in ("user", "assistant", "tool"):
        return "none may change what a user, the model or a tool said"
    return "none finds the changing piece alone, or changes it and nothing else"
