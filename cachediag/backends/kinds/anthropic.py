"""The hosted API: cached tokens in the usage, disjoint. It is told by its address, never asked.

Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
"""

from cachediag.backends.kinds.probe import Plain

__all__ = ["PROBE"]

PROBE = Plain("anthropic", profile="anthropic")
