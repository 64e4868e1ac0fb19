"""Tokenizers, all offline, and the encoder that encodes each piece of text once."""

__all__: list[str] = []
