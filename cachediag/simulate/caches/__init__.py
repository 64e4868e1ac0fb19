"""What a replica keeps of the prompts that it has served."""

from cachediag.analysis.engines import engine
from cachediag.simulate.caches.blocks import AllBlocks, RecentBlocks
from cachediag.simulate.caches.engines import EngineCache
from cachediag.simulate.model import Cache, Scale, Server

__all__ = ["cache_for"]


def cache_for(server: Server, scale: Scale) -> Cache:
    """An empty prefix cache for a replica.

    Raises:
        UsageError: no engine has the name of the server's, or it has no such option.
    """
    if server.engine is not None:
        return EngineCache(engine(server.engine))
    if server.capacity is None:
        return AllBlocks(scale.block)
    return RecentBlocks(scale.block, server.capacity // scale.block)
