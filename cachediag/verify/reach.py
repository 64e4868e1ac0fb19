"""Whom a replay would reach: one's own machine and network, somebody else's, or a paid API."""

from typing import Literal
from urllib.parse import urlsplit

from cachediag.backends.asking import is_near

__all__ = ["Reach", "reach"]

Reach = Literal["near", "far", "paid"]
"""`near`: a loopback or private address. `paid`: a hosted API. `far`: any other."""

_PAID = (
    "anthropic.com",
    "openai.com",
    "openai.azure.com",
    "openrouter.ai",
    "googleapis.com",
    "amazonaws.com",
    "mistral.ai",
    "deepseek.com",
    "groq.com",
    "together.xyz",
    "fireworks.ai",
    "x.ai",
    "z.ai",
    "moonshot.ai",
)


def reach(base_url: str) -> Reach:
    """Tell by a server's address. Looks its name up."""
    host = (urlsplit(base_url).hostname or "").rstrip(".")
    if any(host == domain or host.endswith(f".{domain}") for domain in _PAID):
        return "paid"
    return "near" if is_near(base_url) else "far"
