"""A fleet of servers, played: which router keeps how much of the prefix cache."""

__all__: list[str] = []
