"""What several policies ask of the load of replicas."""

from collections.abc import Callable, Sequence

from cachediag.simulate.model import Replica

__all__ = ["least_loaded"]


def least_loaded(replicas: Sequence[Replica], draw: Callable[[], float]) -> Replica:
    """One of the replicas with the fewest outstanding requests.

    Args:
        replicas: at least one.
        draw: gives a number from 0 to below 1, to choose among equals.
    """
    loads = [each.outstanding for each in replicas]
    least = min(loads)
    first = loads.index(least)
    ties = loads.count(least)
    if ties == 1:
        return replicas[first]
    turn = int(draw() * ties)
    for _ in range(turn):
        first = loads.index(least, first + 1)
    return replicas[first]
