"""Rule files: read and write, generate, check, apply byte-exactly, export."""

__all__: list[str] = []
