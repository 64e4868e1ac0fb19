"""Live backends: a sandbox of our own, and recognising and reading those of others."""

__all__: list[str] = []
