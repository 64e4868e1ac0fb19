"""Consistent hashing of the session: a conversation stays on its replica, whatever the load.

What the session routers of vLLM's production-stack and others do with a header or a cookie
(`session` of https://github.com/vllm-project/production-stack,
`src/vllm_router/routers/routing_logic.py` at commit 008a23b). They differ in the hash, which is a
choice here: see `ring`. So many places a replica are usual since ketama.
"""

from collections.abc import Sequence

from cachediag.analysis.engines.prefix import at_least
from cachediag.simulate.model import Policy, Replica, Request, Scale
from cachediag.simulate.policies.ring import Ring

__all__ = ["SessionHash"]


class SessionHash(Policy):
    """Chooses by the session alone.

    Args:
        virtual_nodes: places that each replica has on the ring; more of them part the sessions
            more evenly.
    """

    name = "session-hash"

    def __init__(self, *, virtual_nodes: int = 160) -> None:
        self._virtual_nodes = at_least(1, "virtual_nodes", virtual_nodes)

    def prepare(self, scale: Scale, seed: int) -> None:  # noqa: ARG002
        """Make the ring."""
        self._ring = Ring(self._virtual_nodes, seed)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:  # noqa: ARG002
        """The session's own."""
        return self._ring.find(request.session, replicas)
