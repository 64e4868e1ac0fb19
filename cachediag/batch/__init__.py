"""Many sessions: found, analysed by several processes or machines, put together."""

__all__: list[str] = []
