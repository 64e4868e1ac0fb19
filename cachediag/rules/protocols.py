"""Which rules are meant for a request."""

from cachediag.model import Endpoint

__all__ = ["protocol_of"]


def protocol_of(endpoint: Endpoint, path: str) -> str | None:
    """Give the protocol whose rules apply to a request.

    A request that counts tokens has the body of the one that it counts for.

    Args:
        endpoint: what is called.
        path: its path or URL.

    Returns:
        One of `cachediag.rules.rule.PROTOCOLS`; None where the request carries no prompt.
    """
    if endpoint == "other":
        return None
    if endpoint == "count_tokens":
        return "responses" if "/responses/" in path else "messages"
    return endpoint
