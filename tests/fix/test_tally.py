from cachediag.fix.tally import RuleCount, Tally
from cachediag.rules.engine.applied import Applied, Change

from .material import DROP, SORT


def change(rule: str, size: int) -> Change:
    return Change(rule, "system[0]", "before", "", size)


def test_each_rule_is_counted_by_requests_and_bytes() -> None:
    tally = Tally((SORT, DROP))
    counts = [list(tally.rules)]
    tally.add(Applied(b"{}", (change(DROP.id, 5), change(DROP.id, 7), change("new", 1))))
    tally.add(Applied(b"{}"))
    counts.append(list(tally.rules))
    tally.add(Applied(b"{}", (change(DROP.id, 30),)))
    assert (tally.requests, tally.changed, tally.bytes) == (3, 2, 43)
    counts.append(list(tally.rules))
    idle, new = RuleCount(SORT.id, 0, 0), RuleCount("new", 1, 1)
    assert counts == [
        [idle, RuleCount(DROP.id, 0, 0)],
        [idle, RuleCount(DROP.id, 1, 12), new],
        [idle, RuleCount(DROP.id, 2, 42), new],
    ]
