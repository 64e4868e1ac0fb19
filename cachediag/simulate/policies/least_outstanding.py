"""The replica with the fewest requests that were sent there and have not ended.

`LEAST_OUTSTANDING_REQUESTS` of Amazon SageMaker's endpoints (read in November 2026), and the method
of that name elsewhere:
https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ProductionVariantRoutingConfig.html

How ties are broken is not published. Here one of the tied is taken at random: the first of them
would take all requests of a fleet that has little to do.
"""

from collections.abc import Sequence

from cachediag.simulate.model import Policy, Replica, Request, Scale
from cachediag.simulate.policies.loads import draws, least_loaded

__all__ = ["LeastOutstanding"]


class LeastOutstanding(Policy):
    """Chooses where the fewest are outstanding."""

    name = "least-outstanding"

    def prepare(self, scale: Scale, seed: int) -> None:  # noqa: ARG002
        """Begin the row of random numbers that break ties."""
        self._draw = draws(seed)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:  # noqa: ARG002
        """Any of those with the fewest."""
        return least_loaded(replicas, self._draw)
