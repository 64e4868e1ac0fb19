from cachediag.simulate.model import Scale
from cachediag.simulate.policies import policy
from tests.simulate.fleet import fleet
from tests.simulate.prompts import request


def test_each_replica_in_its_share_of_the_numbers_drawn() -> None:
    """The first six numbers of seed 0, times the replicas there are, cut to whole ones.

    | request | drawn | replicas | chosen |
    |---|---|---|---|
    | 1 | 0.844 | 0 1 2 3 | 3.38 → 3 |
    | 2 | 0.758 | 0 1 2 3 | 3.03 → 3 |
    | 3 | 0.421 | 0 1 2 3 | 1.68 → 1 |
    | 4 | 0.259 | 0 1 2 3 | 1.04 → 1 |
    | 5 | 0.511 | 0 2 3 | 1.53 → the second, 2 |
    | 6 | 0.405 | 0 2 3 | 1.21 → the second, 2 |
    """
    chooser = policy("random")
    chooser.prepare(Scale(block=4), 0)
    fleets = [fleet("0123")] * 4 + [fleet("023")] * 2
    assert [chooser.choose(request("1"), each, 0.0).id for each in fleets] == [3, 3, 1, 1, 2, 2]
