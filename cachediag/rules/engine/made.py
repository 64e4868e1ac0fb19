"""What an action makes of a place, before it is known whether it can be done."""

from dataclasses import dataclass

from cachediag.protocol.jsontext import Span
from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.pins import Pins, lane_of

__all__ = ["Made", "Sent"]


class Sent:
    """A request as it was sent, and what is remembered of earlier ones."""

    def __init__(self, body: bytes, protocol: str, pins: Pins) -> None:
        self.body = body
        self.protocol = protocol
        self._pins = pins
        self._lane: bytes | None = None

    def first_value(self, key: tuple[str, str, int], value: bytes) -> bytes:
        """The first value that the request's conversation had; see `Pins.first`."""
        if self._lane is None:
            self._lane = lane_of(self.body)
        return self._pins.first(self._lane, key, value)


@dataclass(frozen=True)
class Made:
    """One change: what goes or is replaced, and how the model sees it."""

    edits: tuple[Edit, ...]
    before: str
    after: str
    size: int
    """Bytes of the body as sent that are removed, replaced or moved."""
    dropped: Span | None = None
    """A whole value that goes, so that a comma goes with it."""
    moved: Span | None = None
    """The inside of a string literal that is to stand at the end of the newest message."""
