"""What tool and response schemas ask of a decoder: found, judged by engine, and what it costs."""

from cachediag.lint.schemas import Asked, Collected, Schema, collect

__all__ = ["Asked", "Collected", "Schema", "collect"]
