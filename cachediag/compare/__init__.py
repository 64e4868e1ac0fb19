"""Two prompts → where they part, and what kind of change each difference is."""

from cachediag.compare.compare import compare
from cachediag.compare.comparison import Comparison

__all__ = ["Comparison", "compare"]
