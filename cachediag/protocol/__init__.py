"""Request and response bodies of the three protocols: prompt blocks, usage."""

from cachediag.protocol.parse import parse

__all__ = ["parse"]
