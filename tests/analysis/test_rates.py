"""Shares of what was counted."""

from cachediag.analysis.rates import share


def test_of_nothing_there_is_no_share() -> None:
    assert (share(3, 4), share(0, 4), share(0, 0)) == (0.75, 0.0, 0.0)
