"""Rules applied to a request: a splice of its raw bytes."""

from collections.abc import Sequence

from cachediag.protocol import jsontext
from cachediag.rules.engine.actions import ACTIONS_BY_NAME
from cachediag.rules.engine.applied import Applied, Change
from cachediag.rules.engine.edits import Edits
from cachediag.rules.engine.gaps import gap_edits
from cachediag.rules.engine.guard import may_touch
from cachediag.rules.engine.made import Made, Sent
from cachediag.rules.engine.pins import Pins
from cachediag.rules.engine.places import Place, places
from cachediag.rules.engine.tail import tail_edits
from cachediag.rules.rule import Rule

__all__ = ["apply_rules"]


def apply_rules(
    body: bytes, protocol: str, rules: Sequence[Rule], pins: Pins | None = None
) -> Applied:
    """Apply rules to a request's body.

    Every rule looks at the body as it was sent, so their order plays no part, but that where two
    would change the same bytes the first one does, and the other is told as a conflict.

    Args:
        body: the raw body, content-encoding undone.
        protocol: `messages`, `chat` or `responses`; rules for another are passed over.
        rules: the rules, enabled or not.
        pins: what `pin` remembers of the requests before; of none where it is not given.

    Raises:
        ValueError: the body is not JSON, or a rule's path or pattern is none.
        CachediagError: the same, where the package's own JSON reader found it.
    """
    sent = Sent(body, protocol, Pins() if pins is None else pins)
    edits = Edits(body)
    done: list[tuple[Change, Place, Made]] = []
    conflicts: list[tuple[str, str]] = []
    for rule in rules:
        if rule.protocol != protocol:
            continue
        for place in places(body, rule.path):
            if not may_touch(body, rule, place):
                continue
            for made in ACTIONS_BY_NAME[rule.action](sent, rule, place):
                if edits.add(made.edits):
                    change = Change(rule.id, place.path, made.before, made.after, made.size)
                    done.append((change, place, made))
                else:
                    conflicts.append((rule.id, place.path))
    dropped = [place for _, place, made in done if made.dropped]
    moved = [made.moved for _, _, made in done if made.moved]
    edits.add(gap_edits(body, dropped))
    edits.add(tail_edits(body, protocol, moved))
    spliced = edits.body()
    if moved:
        # Raises where the result is no JSON: what no server could read must not be sent.
        jsontext.check(spliced)
    return Applied(spliced, tuple(change for change, _, _ in done), tuple(conflicts))
