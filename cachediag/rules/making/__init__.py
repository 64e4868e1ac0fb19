"""From what changed in a session to rules: values, patterns that mark them, proposals, proof."""

__all__: list[str] = []
