"""The first values that were seen, by conversation."""

from collections import OrderedDict
from hashlib import blake2b

from cachediag.protocol import jsontext
from cachediag.rules.engine.places import Place, member, root

__all__ = ["Pins", "lane_of"]

_MOST_LANES = 4_096


class Pins:
    """Remembers what `pin` keeps: for each lane, the first value at each place.

    The lanes that were used last are kept, so that the memory does not grow with the traffic.
    """

    def __init__(self) -> None:
        self._lanes: OrderedDict[bytes, dict[tuple[str, str, int], bytes]] = OrderedDict()

    def first(self, lane: bytes, key: tuple[str, str, int], value: bytes) -> bytes:
        """The first value that was given for a lane's key.

        Args:
            lane: as `lane_of` tells it.
            key: the rule, the path, and the number of the piece there.
            value: the raw value now; it is the first where there was none before.
        """
        values = self._lanes.setdefault(lane, {})
        self._lanes.move_to_end(lane)
        if len(self._lanes) > _MOST_LANES:
            self._lanes.popitem(last=False)
        return values.setdefault(key, value)


def lane_of(body: bytes) -> bytes:
    """What tells one conversation from another: model, whether there are tools, first user text.

    A client's auxiliary requests repeat the user's words, but carry no tools.
    """
    whole = root(body)
    model, tools = member(body, whole, "model"), member(body, whole, "tools")
    digest = blake2b(digest_size=16)
    digest.update(_raw(body, model))
    digest.update(b"\x01" if _raw(body, tools) not in (b"", b"[]", b"null") else b"\x00")
    digest.update(
        _first_words(body, member(body, whole, "messages") or member(body, whole, "input"))
    )
    return digest.digest()


def _raw(body: bytes, place: Place | None) -> bytes:
    return body[place.span.start : place.span.end] if place else b""


def _first_words(body: bytes, messages: Place | None) -> bytes:
    """The newest text of the first user message, which a client's context stands before."""
    if messages is None or body[messages.span.start : messages.span.start + 1] != b"[":
        return _raw(body, messages)
    for index, span in enumerate(jsontext.items(body, messages.span)):
        message = Place(f"{messages.path}[{index}]", span, messages, index)
        if _raw(body, member(body, message, "role")) != b'"user"':
            continue
        content = member(body, message, "content")
        if content is None or body[content.span.start : content.span.start + 1] != b"[":
            return _raw(body, content)
        texts = [
            _raw(body, text)
            for number, block in enumerate(jsontext.items(body, content.span))
            if (text := member(body, Place("", block, content, number), "text"))
        ]
        return texts[-1] if texts else b""
    return b""
