"""What the scripts of all carriers do alike."""

import logging

from cachediag.protocol.endpoint import endpoint_of
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.protocols import protocol_of
from cachediag.rules.rule import Rule

__all__ = ["RULES", "applied", "is_ruled", "protocol_at", "warn"]

RULES: tuple[Rule, ...] = ()

_logger = logging.getLogger("cachediag")
_pins = Pins()
_warned: list[str] = []


def protocol_at(path: str) -> str | None:
    """The protocol of requests to a path or URL; None where no rule is for them."""
    protocol = protocol_of(endpoint_of(path), path)
    return protocol if protocol is not None and is_ruled(protocol) else None


def is_ruled(protocol: str) -> bool:
    """Whether a rule is for requests of a protocol."""
    return any(rule.protocol == protocol for rule in RULES)


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
