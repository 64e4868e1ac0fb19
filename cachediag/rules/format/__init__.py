"""A rule file as a text: its schema, what is wrong with one and where, how one is written."""

__all__: list[str] = []
