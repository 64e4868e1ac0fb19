"""The causes of a session → proposals: what each kind proposes, put together and named."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from cachediag.model import Exchange
from cachediag.rules.format.validity import can_be_written, problems
from cachediag.rules.making.proposals import PROPOSALS
from cachediag.rules.making.proposals.proposed import Material, Piece, Proposed, evidence
from cachediag.rules.making.values import Found, Spot, texts_at
from cachediag.rules.rule import Rule

__all__ = ["drafted"]

_INDEX = re.compile(r"\[\d+\]")


def drafted(
    found: Sequence[Found], exchanges: Callable[[], Iterable[Exchange]]
) -> tuple[Proposed, ...]:
    """The proposals for a session's causes, each with an id of its own.

    Args:
        found: the causes.
        exchanges: the session's exchanges, anew at each call.
    """

    def texts(spot: Spot) -> Mapping[str, Sequence[int]]:
        return texts_at(exchanges(), [spot])[spot]

    made: list[Proposed] = []
    for code, propose in PROPOSALS.items():
        own = [each for each in found if each.code == code]
        for one in propose(Material(own, texts)) if own else ():
            _add(made, one)
    return tuple(_named(each for each in _gathered(made) if _is_sound(each.rule)))


def _is_sound(rule: Rule) -> bool:
    """Whether a rule file can hold it."""
    texts = (rule.path, rule.pattern or "", rule.value or "")
    return all(map(can_be_written, texts)) and not any(problems(rule))


def _add(made: list[Proposed], new: Proposed) -> None:
    """Add a proposal; one whose piece another changes already is answered by that."""
    for number, one in enumerate(made):
        if one.rule.enabled >= new.rule.enabled and _meet(one.pieces, new.pieces):
            answers = (*one.answers, *(each for each in new.answers if each not in one.answers))
            made[number] = replace(one, answers=answers)
            return
    made.append(new)


def _meet(some: Sequence[Piece], others: Sequence[Piece]) -> bool:
    return any(one.meets(other) for one in some for other in others)


def _gathered(made: Sequence[Proposed]) -> Iterator[Proposed]:
    """Rules that are the same but for the message that they look at, as one."""
    groups: defaultdict[Rule, list[Proposed]] = defaultdict(list)
    for one in made:
        path = _INDEX.sub("[*]", one.rule.path) if one.rule.messages else one.rule.path
        groups[replace(one.rule, path=path, evidence=evidence([]))].append(one)
    for rule, group in groups.items():
        if len(group) == 1:
            yield group[0]
            continue
        answers = tuple(dict.fromkeys(found for one in group for found in one.answers))
        values = [value for one in group for value in one.rule.evidence.seen]
        pieces = tuple(piece for one in group for piece in one.pieces)
        gathered = replace(rule, evidence=evidence(answers, values))
        yield replace(group[0], rule=gathered, answers=answers, pieces=pieces)


def _named(made: Iterable[Proposed]) -> Iterator[Proposed]:
    """Give rules of one name numbers."""
    taken: Counter[str] = Counter()
    for one in made:
        taken[one.rule.id] += 1
        number = taken[one.rule.id]
        name = one.rule.id if number == 1 else f"{one.rule.id}-{number}"
        yield replace(one, rule=replace(one.rule, id=name))
