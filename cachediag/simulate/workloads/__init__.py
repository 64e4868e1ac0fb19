"""Where requests come from: recorded sessions, traces, and seeded generators."""

__all__: list[str] = []
