from cachediag.simulate.policies import policy
from tests.simulate.fleet import fleet
from tests.simulate.prompts import request


def test_in_turn_also_when_replicas_leave_and_join() -> None:
    """The next id after the last one.

    | request | replicas | last | chosen |
    |---|---|---|---|
    | 1 | 0 1 2 | | 0 |
    | 2 | 0 1 2 | 0 | 1 |
    | 3 | 0 1 2 | 1 | 2 |
    | 4 | 0 1 2 | 2 | 0 |
    | 5 | 0 2 | 0 | 2 |
    | 6 | 0 2 | 2 | 0 |
    | 7 | 0 2 3 | 0 | 2 |
    | 8 | 0 2 3 | 2 | 3 |
    | 9 | 0 2 3 | 3 | 0 |
    """
    chooser = policy("round-robin")
    fleets = [fleet("012")] * 4 + [fleet("02")] * 2 + [fleet("023")] * 3
    chosen = [chooser.choose(request("1"), each, 0.0).id for each in fleets]
    assert chosen == [0, 1, 2, 0, 2, 0, 2, 3, 0]
