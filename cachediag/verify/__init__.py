"""Replay experiments on a live backend, and what each fix is worth."""

__all__: list[str] = []
