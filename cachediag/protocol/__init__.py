"""Request and response bodies of the three protocols: prompt blocks, usage."""

from cachediag.protocol.parse import Parser, parse

__all__ = ["Parser", "parse"]
