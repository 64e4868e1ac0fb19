"""Undoing a content-encoding piece by piece, with a bound on what comes out."""

import zlib
from collections.abc import Callable, Iterable, Iterator

import brotli
import zstandard

from cachediag.session import MAX_BODY

__all__ = ["MAX_DECODED", "EncodingError", "decode", "decode_chunks"]

MAX_DECODED = MAX_BODY
"""Bytes; a body that decodes to more is kept encoded, as a decompression bomb would be."""

_MOST_ENCODINGS = 4
# brotli and zstd cannot be told how much to put out, so they are fed little at a time. Of gzip each
# member leaves what is behind it to be copied.
_PIECE, _GZIP_PIECE = 64, 1024
_GZIP = b"\x1f\x8b"

Feed = Callable[[bytes], bytes]


class EncodingError(ValueError):
    """The content-encoding is not known, is not what the bytes are, or decodes to too much."""


def decode(encoding: str, body: bytes) -> bytes:
    """Undo a content-encoding.

    Args:
        encoding: the value of the `content-encoding` header; several are undone from the last.
        body: the encoded bytes; if they end early, what can be decoded is returned.

    Returns:
        The decoded bytes.

    Raises:
        EncodingError: if that cannot be done, or the result exceeds `MAX_DECODED`.
    """
    return b"".join(decode_chunks(encoding, (body,)))


def decode_chunks(encoding: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Undo a content-encoding chunk by chunk.

    Args:
        encoding: the value of the `content-encoding` header.
        chunks: the encoded bytes as they arrived.

    Yields:
        For each chunk what it decodes to, possibly nothing.

    Raises:
        EncodingError: as `decode`.
    """
    names = [name.strip().lower() for name in encoding.split(",")]
    feeds = [_FEEDS.get(name) for name in names if name not in {"", "identity", "none"}]
    if len(feeds) > _MOST_ENCODINGS:
        raise EncodingError(f"more than {_MOST_ENCODINGS} content-encodings")
    if None in feeds:
        raise EncodingError(f"content-encoding {encoding!r} is not known")
    decoders = [make() for make in reversed(feeds) if make is not None]
    taken = total = 0
    for chunk in chunks:
        taken += len(chunk)
        data = chunk
        for feed in decoders:
            try:
                data = feed(data)
            except EncodingError:
                raise
            except Exception as error:
                raise EncodingError(f"not {encoding}: {error}") from error
        total += len(data)
        if total > MAX_DECODED:
            raise EncodingError(f"decodes to more than {MAX_DECODED} bytes")
        yield data
    if taken and not total:
        # brotli takes almost any few bytes for the beginning of something longer.
        raise EncodingError(f"{taken} bytes that {encoding} makes nothing of")


def _gzip() -> Feed:
    state, behind = zlib.decompressobj(31), b""

    def feed(data: bytes) -> bytes:
        nonlocal state, behind
        out: list[bytes] = []
        data, behind = behind + data, b""
        # A gzip body may consist of several members; what is no member is padding.
        while not state.eof or data.startswith(_GZIP):
            if state.eof:
                state = zlib.decompressobj(31)
            out.append(_bounded(state, data))
            if not state.eof:
                return b"".join(out)
            data = state.unused_data
        behind = data[:2]
        return b"".join(out)

    return _pieces(feed, _GZIP_PIECE)


def _deflate() -> Feed:
    head = b""
    state = None

    def feed(data: bytes) -> bytes:
        nonlocal head, state
        if state is None:
            head += data
            if len(head) < 2:
                return b""
            # Some servers send deflate without its zlib wrapper.
            wrapped = head[0] & 15 == 8 and int.from_bytes(head[:2], "big") % 31 == 0
            state, data = zlib.decompressobj(15 if wrapped else -15), head
        return _bounded(state, data)

    return feed


def _bounded(state: "zlib._Decompress", data: bytes) -> bytes:
    if state.eof:
        return b""
    out = state.decompress(data, MAX_DECODED + 1)
    if state.unconsumed_tail:
        raise EncodingError(f"decodes to more than {MAX_DECODED} bytes")
    return out


def _pieces(feed_piece: Feed, size: int = _PIECE) -> Feed:
    def feed(data: bytes) -> bytes:
        out: list[bytes] = []
        total = 0
        for start in range(0, len(data), size):
            out.append(feed_piece(data[start : start + size]))
            total += len(out[-1])
            if total > MAX_DECODED:
                raise EncodingError(f"decodes to more than {MAX_DECODED} bytes")
        return b"".join(out)

    return feed


def _brotli() -> Feed:
    process: Feed = brotli.Decompressor().process
    return _pieces(process)


def _zstd() -> Feed:
    return _pieces(zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress)


_FEEDS: dict[str, Callable[[], Feed]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
