"""What the scripts of all carriers do alike."""

import logging

from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.rule import Rule

__all__ = ["RULES", "applied", "protocol_of", "warn"]

RULES: tuple[Rule, ...] = ()

_PROTOCOLS = {
    "messages": "messages",
    "count_tokens": "messages",
    "chat": "chat",
    "responses": "responses",
}
_logger = logging.getLogger("cachediag")
_pins = Pins()
_warned: list[str] = []


def protocol_of(endpoint: str) -> str | None:
    """The protocol of requests to an endpoint; None where no rule is for them."""
    protocol = _PROTOCOLS.get(endpoint)
    return protocol if any(rule.protocol == protocol for rule in RULES) else None


def applied(body: bytes, protocol: str) -> bytes:
    """The body as the rules make it; as it came on any trouble."""
    try:
        return apply_rules(body, protocol, RULES, _pins).body
    except Exception as error:  # noqa: BLE001 - whatever is wrong, the request goes on
        warn(error)
        return body


def warn(error: Exception) -> None:
    """Tell once that requests are passed on as they come."""
    if not _warned:
        _warned.append(repr(error))
        _logger.warning("cachediag rules: a request was passed on unchanged: %r", error)
