"""Amazon SageMaker's `PREFIX_AWARE` routing strategy.

The definition, read in November 2026:
https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_PrefixAwareRoutingConfig.html

Requests whose heads of `PrefixLength` are equal go to one instance. The head is counted in bytes of
the body for the native calls (`InvokeEndpoint` and that with a response stream), in characters of
the text of the `messages` for the OpenAI-compatible one. Once `ConcurrencyThreshold` requests are
in flight on that instance, a request goes to one with more capacity free.

What is not published, and is a choice here:

- which instance a head belongs to: consistent hashing of the head, so that one that joins or leaves
  moves only the heads that it takes or had;
- which instance has more capacity: any of those with the fewest outstanding requests;
- that a request sent elsewhere leaves no trace: the next with its head is sent to the head's own
  instance again, if that is below the threshold.

Both parameters must be given to SageMaker, which has no defaults. Those here are the middle of the
two published ranges, by their logarithms.

Where a request has no text, the head of a prompt is told by the key of the block in which its last
character stands, counted by the workload's characters a token; a shorter prompt's is the whole.
"""

from collections.abc import Sequence
from math import ceil
from typing import Literal

from cachediag.simulate.model import Policy, Replica, Request, Scale, Unit
from cachediag.simulate.policies.loads import draws, least_loaded
from cachediag.simulate.policies.parameters import within
from cachediag.simulate.policies.ring import Ring

__all__ = ["CALLS", "SageMaker"]

CALLS: dict[str, Unit] = {"InvokeEndpoint": "bytes", "OpenAI": "characters"}
"""What each call has `PrefixLength` counted in."""

# As many as a session hash has.
_VIRTUAL_NODES = 160


class SageMaker(Policy):
    """Chooses by a head of the request, up to a number of requests in flight.

    Args:
        PrefixLength: of the head, in bytes or characters.
        ConcurrencyThreshold: requests in flight on an instance from which on it takes no more.
        call: that by which requests reach the endpoint.
    """

    name = "sagemaker"

    def __init__(
        self,
        *,
        PrefixLength: int = 8192,  # noqa: N803 - its published name
        ConcurrencyThreshold: int = 32,  # noqa: N803 - its published name
        call: Literal["InvokeEndpoint", "OpenAI"] = "InvokeEndpoint",
    ) -> None:
        self._length = within(1024, 65_536, "PrefixLength", PrefixLength)
        self._threshold = within(1, 1024, "ConcurrencyThreshold", ConcurrencyThreshold)
        self._unit = CALLS[call]

    def prepare(self, scale: Scale, seed: int) -> None:
        """Count the blocks of a head; make the ring, and the random numbers that break ties."""
        self._ring = Ring(_VIRTUAL_NODES, seed)
        self._blocks = ceil(self._length / (scale.block * scale.characters))
        self._draw = draws(seed)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:  # noqa: ARG002
        """The head's own, unless too much is in flight there."""
        own = self._ring.find(str(self._head(request)), replicas)
        if own.outstanding < self._threshold:
            return own
        return least_loaded(replicas, self._draw)

    def _head(self, request: Request) -> int | None:
        if request.heads is not None:
            return request.heads.key(self._unit, self._length)
        head = request.blocks[: self._blocks]
        return head[-1] if head else None
