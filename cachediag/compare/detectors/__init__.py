"""What kind of change a piece of text underwent: one file a finding."""

__all__: list[str] = []
