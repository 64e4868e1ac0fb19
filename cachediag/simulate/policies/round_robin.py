"""The replicas in turn, in the order of their joining.

As nginx's default method has it with equal weights (read in November 2026):
https://nginx.org/en/docs/http/load_balancing.html
"""

from collections.abc import Sequence

from cachediag.simulate.model import Policy, Replica, Request

__all__ = ["RoundRobin"]


class RoundRobin(Policy):
    """Goes round.

    The turn goes to the next id after the one served last, so one that joins or leaves does not
    change the order of the others.
    """

    name = "round-robin"

    def __init__(self) -> None:
        self._last = -1

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:  # noqa: ARG002
        """The next after the one chosen last."""
        chosen = next((each for each in replicas if each.id > self._last), replicas[0])
        self._last = chosen.id
        return chosen
