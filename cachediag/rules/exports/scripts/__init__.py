"""What exported scripts are made of, besides the engine: one module a carrier."""

__all__: list[str] = []
