"""A replica at random, each as likely as the next: what load balancers do that look at nothing.

Also `RANDOM` of Amazon SageMaker's endpoints, where it is the default (read in November 2026):
https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ProductionVariantRoutingConfig.html
"""

from collections.abc import Sequence

from cachediag.simulate.model import Policy, Replica, Request, Scale
from cachediag.simulate.policies.loads import draws

__all__ = ["Random"]


class Random(Policy):
    """Chooses at random."""

    name = "random"

    def prepare(self, scale: Scale, seed: int) -> None:  # noqa: ARG002
        """Begin the row of random numbers."""
        self._draw = draws(seed)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:  # noqa: ARG002
        """Any of them."""
        return replicas[int(self._draw() * len(replicas))]
