"""V01: the billing header that some clients write at the head of the system prompt.

A line `x-anthropic-billing-header:` and fields `name=value;`. Some clients give it a block of its
own, others put it before the first system text, with a newline or with nothing between.
"""

__all__ = ["CODE", "PATTERN"]

CODE = "V01"
PATTERN = r"x-anthropic-billing-header:(?:[ \t]*[A-Za-z_]+=[^;\s]*;)+"
