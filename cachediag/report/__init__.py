"""What a user sees: rich renderables and JSON documents. Nothing here prints."""
