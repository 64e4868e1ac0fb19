"""What changes a running system: the strip addon, client switches, status."""

__all__: list[str] = []
