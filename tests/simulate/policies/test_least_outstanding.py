from cachediag.simulate.model import Scale
from cachediag.simulate.policies import policy
from tests.simulate.fleet import fleet
from tests.simulate.prompts import request


def test_the_fewest_and_of_equals_any() -> None:
    """Ties are broken by the numbers of seed 0: 0.844, 0.758, 0.421.

    | request | outstanding at 0, 1, 2 | tied | drawn | chosen |
    |---|---|---|---|---|
    | 1 | 3 1 2 | | | 1 |
    | 2 | 1 1 1 | 0 1 2 | 0.844 → third | 2 |
    | 3 | 0 5 0 | 0 2 | 0.758 → second | 2 |
    | 4 | 9 9 2 | | | 2 |
    | 5 | 4 4 7 | 0 1 | 0.421 → first | 0 |
    """
    chooser = policy("least-outstanding")
    chooser.prepare(Scale(block=4), 0)
    loads = [(3, 1, 2), (1, 1, 1), (0, 5, 0), (9, 9, 2), (4, 4, 7)]
    chosen = [chooser.choose(request("1"), fleet(outstanding=each), 0.0).id for each in loads]
    assert chosen == [1, 2, 2, 2, 0]
