import contextlib
import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.hostile_input import members
from cachediag.capture import encoding
from cachediag.capture.encoding import EncodingError, decode, decode_chunks


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ENCODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
encodings = st.sampled_from(sorted(ENCODERS))


@given(encodings, st.binary(min_size=1, max_size=5000), st.integers(1, 700))
def test_whatever_the_chunks_are_the_bytes_come_back(name, data, size):
    encoded = ENCODERS[name](data)
    chunks = [encoded[start : start + size] for start in range(0, len(encoded), size)]
    decoded = list(decode_chunks(name, chunks))
    assert b"".join(decoded) == data
    assert len(decoded) == len(chunks)


@given(encodings, encodings, st.binary(min_size=1, max_size=500))
def test_several_are_undone_from_the_last(first, second, data):
    assert decode(f"{first}, {second}", ENCODERS[second](ENCODERS[first](data))) == data


@given(encodings, st.binary(max_size=300))
def test_no_bytes_raise_anything_else(name, data):
    with contextlib.suppress(EncodingError):
        decode(name, data)


@pytest.mark.parametrize("name", sorted(ENCODERS))
def test_what_ends_early_is_decoded_as_far_as_it_goes(name):
    data = b"".join(bytes(str(number), "ascii") for number in range(100_000))
    encoded = ENCODERS[name](data)
    half = decode(name, encoded[: len(encoded) // 2])
    assert half
    assert data.startswith(half)


def test_gzip_members_follow_one_another_and_padding_ends_them():
    members = gzip.compress(b"one") + gzip.compress(b"two")
    assert decode("gzip", members + b"\0\0\0") == b"onetwo"


@pytest.mark.parametrize("name", ["identity", "", "none", "identity, identity"])
def test_identity_changes_nothing(name):
    assert decode(name, b"as it is") == b"as it is"


def test_an_unknown_encoding_is_refused():
    with pytest.raises(EncodingError, match="'compress' is not known"):
        decode("compress", b"x")


@pytest.mark.parametrize("name", sorted(ENCODERS))
def test_a_decompression_bomb_is_refused(name, monkeypatch):
    monkeypatch.setattr(encoding, "MAX_DECODED", 10_000)
    assert decode(name, ENCODERS[name](bytes(10_000))) == bytes(10_000)
    with pytest.raises(EncodingError, match="more than 10000 bytes"):
        decode(name, ENCODERS[name](bytes(10_000_000)))


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=5), st.integers(1, 40), st.binary())
def test_members_may_begin_in_any_chunk(members, size, padding):
    padding = b"\0" + padding
    encoded = b"".join(map(gzip.compress, members)) + padding
    chunks = [encoded[start : start + size] for start in range(0, len(encoded), size)]
    with contextlib.nullcontext() if any(members) else pytest.raises(EncodingError):
        assert b"".join(decode_chunks("gzip", chunks)) == b"".join(members)


def test_members_that_make_a_bomb_together_are_refused(monkeypatch):
    monkeypatch.setattr(encoding, "MAX_DECODED", 10_000)
    with pytest.raises(EncodingError, match="more than 10000 bytes"):
        decode("gzip", gzip.compress(bytes(9_000)) * 40)


def test_what_is_unpacked_of_many_members_grows_with_their_number(monkeypatch):
    """Each member leaves what is behind it to be read again."""
    fed, bounded = [0], encoding._bounded

    def counted(state, data):
        fed[0] += len(data)
        return bounded(state, data)

    monkeypatch.setattr(encoding, "_bounded", counted)

    def read(count: int) -> int:
        fed[0] = 0
        assert decode("gzip", members(count)) == b"end"
        return fed[0]

    assert read(40_000) < 1.1 * 20 * read(2_000)


def test_no_more_than_four_are_undone():
    encoded = b"x"
    for _ in range(4):
        encoded = gzip.compress(encoded)
    assert decode(", ".join(["gzip"] * 4), encoded) == b"x"
    with pytest.raises(EncodingError, match="more than 4"):
        decode(", ".join(["gzip"] * 5), gzip.compress(encoded))
