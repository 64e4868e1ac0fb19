"""What a user sees: rich renderables and JSON documents. Nothing here prints."""

__all__: list[str] = []
