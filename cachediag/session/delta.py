"""Bodies as zstd deltas: encoding one against an earlier body, and choosing that body.

An agent sends its whole history again with every request, so each body is nearly an earlier one
and a little more. A delta is a plain zstd frame whose dictionary is the earlier body itself
(raw content, as in `zstd --patch-from`).
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import zstandard

__all__ = ["HARD", "MAX_BODY", "MAX_DEPTH", "Base", "Recent", "decode", "encode", "pieces_of"]

MAX_DEPTH: Final = 31
"""Deltas that may follow one another before a full copy: a read decodes at most one more."""

MAX_BODY: Final = 256 << 20
"""Bytes of a body that a session holds: a small frame may claim to unpack to far more."""

HARD: Final = 12
"""The zstd level of a session that is made compact."""

_LEVEL: Final = 3
_MAX_WINDOW_LOG: Final = 27

_MIN_PIECE: Final = 32
_SAMPLE: Final = 1 << 20
_CONTINUES: Final = 0.8


@dataclass(frozen=True, slots=True)
class Base:
    """A stored body that a later one may be encoded against."""

    id: int
    body: bytes
    depth: int
    """Deltas between it and a full copy."""
    pieces: Mapping[int, int]
    """As `pieces_of` returns."""


def encode(body: bytes, base: bytes | None, level: int = _LEVEL) -> bytes:
    """Compress a body, against a base where one is given.

    Args:
        body: the bytes to keep.
        base: the earlier body, or None for a full copy.
        level: zstd's.

    Returns:
        One zstd frame with content size and checksum.
    """
    if base is None:
        return zstandard.ZstdCompressor(level=level, write_checksum=True).compress(body)
    # The window must reach back over the whole base, and zstd loads only the last
    # 8 << max(hash_log, chain_log) bytes of a dictionary: by default far less than a big body.
    bits = min(max((len(base) + len(body)).bit_length(), 17), _MAX_WINDOW_LOG)
    parameters = zstandard.ZstdCompressionParameters.from_level(
        level,
        window_log=bits,
        hash_log=max(17, bits - 3),
        chain_log=max(16, bits - 3),
        write_content_size=True,
        write_checksum=True,
    )
    return zstandard.ZstdCompressor(
        dict_data=_dictionary(base), compression_params=parameters
    ).compress(body)


def decode(data: bytes, size: int, base: bytes | None) -> bytes:
    """Undo `encode`.

    Args:
        data: the zstd frame.
        size: bytes the body must have; no more is ever allocated.
        base: the body it was encoded against, or None for a full copy.

    Raises:
        ValueError: the frame is damaged, or is not of that size.
    """
    try:
        if size > MAX_BODY:
            raise ValueError(f"it would have {size} bytes, where {MAX_BODY} are the most")
        # The size in the frame is what zstd allocates, so it is checked before, not after.
        if zstandard.frame_content_size(data) != size:
            raise ValueError("the frame is of another size than recorded")
        decompressor = zstandard.ZstdDecompressor(
            dict_data=None if base is None else _dictionary(base)
        )
        return decompressor.decompress(data, max_output_size=size)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def _dictionary(base: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def pieces_of(body: bytes) -> dict[int, int]:
    """Return a body's longer quoted pieces as hash → length; two bodies share what they share.

    Only the first MiB is looked at: enough to tell one conversation from another.
    """
    pieces = body[:_SAMPLE].split(b'"')
    return {hash(piece): len(piece) for piece in pieces if len(piece) >= _MIN_PIECE}


class Recent:
    """The latest bodies of a few conversations, to find the base of the next one.

    A body that continues an earlier one takes its place, so that each of the interleaved
    conversations (main loop, sub-agents, title requests) keeps its latest body here.

    Args:
        count: bodies to keep.
        limit: bytes to keep in all; the latest body is kept whatever its size.
    """

    def __init__(self, count: int, limit: int = 64 << 20) -> None:
        self._count = count
        self._limit = limit
        self._bases: OrderedDict[int, Base] = OrderedDict()

    def choose(self, pieces: Mapping[int, int]) -> Base | None:
        """Return the body that shares the most with `pieces`, the latest one among equals."""
        best: Base | None = None
        most = -1
        for base in reversed(self._bases.values()):
            shared = _shared(base.pieces, pieces)
            if shared > most:
                best, most = base, shared
        return best

    def add(self, new: Base, base: Base | None = None) -> None:
        """Keep a body.

        Args:
            new: the body just stored.
            base: the one it was encoded against.
        """
        if base is not None and _continues(new, base):
            self._bases.pop(base.id, None)
        self._bases[new.id] = new
        self._bases.move_to_end(new.id)
        while len(self._bases) > 1 and (
            len(self._bases) > self._count or self._size() > self._limit
        ):
            self._bases.popitem(last=False)

    def find(self, body_id: int) -> Base | None:
        """Return a body that is kept here, marking it as the latest."""
        base = self._bases.get(body_id)
        if base is not None:
            self._bases.move_to_end(body_id)
        return base

    def _size(self) -> int:
        return sum(len(base.body) for base in self._bases.values())


def _shared(one: Mapping[int, int], other: Mapping[int, int]) -> int:
    return sum(map(one.__getitem__, one.keys() & other.keys()))


def _continues(new: Base, base: Base) -> bool:
    return _shared(base.pieces, new.pieces) > _CONTINUES * sum(base.pieces.values())
