"""V04: a decimal number that alone differs: a counter, a remainder, a size."""

__all__ = ["CODE", "PATTERN"]

CODE = "V04"
PATTERN = r"(?<![\w.])\d+(?:[.,]\d+)*(?!\w)"
