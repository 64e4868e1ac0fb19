"""What rules do to a recorded session, and what speaks against them."""

__all__: list[str] = []
