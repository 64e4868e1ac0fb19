"""The demo on a real engine: a session is recorded, and what each fix is worth is measured."""

__all__: list[str] = []
