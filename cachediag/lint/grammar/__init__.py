"""What grammars cost to compile, measured in an engine that runs in a process of its own."""

__all__: list[str] = []
