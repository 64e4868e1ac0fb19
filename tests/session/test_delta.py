import json
import random

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.session.delta import Base, Recent, decode, encode, pieces_of

WORDS = random.Random(1).randbytes(40_000).hex()


def body(system: str, turns: int) -> bytes:
    messages = [
        {"role": "user", "content": f"{system} turn {n} " + WORDS[n * 100 : n * 100 + 100]}
        for n in range(turns)
    ]
    return json.dumps({"system": system * 50, "messages": messages}).encode()


def base(number: int, content: bytes, depth: int = 0) -> Base:
    return Base(number, content, depth, pieces_of(content))


@settings(deadline=None)
@given(st.binary(max_size=200), st.none() | st.binary(max_size=200), st.sampled_from([3, 12]))
def test_what_is_encoded_is_decoded(content: bytes, earlier: bytes | None, level: int) -> None:
    data = encode(content, earlier, level)
    assert decode(data, len(content), earlier) == content


@pytest.mark.parametrize("size", [60_000, 400_000, 3_000_000, 12_000_000])
def test_a_delta_against_a_body_of_any_size_holds_only_what_is_new(size: int) -> None:
    earlier = random.Random(size).randbytes(size)
    content = earlier[: size // 2] + random.Random(2).randbytes(1000) + earlier[size // 2 :]
    data = encode(content, earlier)
    assert len(data) < 2500 + size // 400
    assert decode(data, len(content), earlier) == content


def test_a_delta_is_read_by_plain_zstd() -> None:
    data = encode(b"x" * 500 + b"new", b"x" * 500)
    dictionary = zstandard.ZstdCompressionDict(b"x" * 500, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    assert zstandard.ZstdDecompressor(dictionary).decompress(data) == b"x" * 500 + b"new"


def test_damage_is_noticed() -> None:
    content = WORDS[:5000].encode()
    data = bytearray(encode(content, None))
    data[len(data) // 2] ^= 1
    with pytest.raises(ValueError):  # noqa: PT011 - zstd's words differ by version
        decode(bytes(data), len(content), None)
    with pytest.raises(ValueError):  # noqa: PT011
        decode(encode(content, None)[:-20], len(content), None)
    with pytest.raises(ValueError):  # noqa: PT011
        decode(b"no frame", 8, None)
    with pytest.raises(ValueError):  # noqa: PT011
        decode(encode(content, WORDS.encode()), len(content), WORDS[1:].encode())


def test_no_more_is_allocated_than_recorded() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(50_000_000))
    assert len(bomb) < 10_000
    with pytest.raises(ValueError, match="another size than recorded"):
        decode(bomb, 100, None)
    claims_much = b"\x28\xb5\x2f\xfd\xe0" + (1 << 40).to_bytes(8, "little")
    with pytest.raises(ValueError, match="where 268435456 are the most"):
        decode(claims_much, 1 << 40, None)


def test_pieces_are_the_longer_strings() -> None:
    long = b"a" * 32
    assert pieces_of(b'{"' + long + b'":"short"}') == {hash(long): 32}
    assert pieces_of(b"") == {}


def test_each_conversation_finds_its_own_latest_body() -> None:
    recent = Recent(4)
    names = ("main loop", "sub-agent", "session title")
    latest: dict[str, int] = {}
    number = 0
    for turn in range(2, 30):
        for name in names:
            number += 1
            content = body(name, turn)
            like = recent.choose(pieces_of(content))
            if name in latest:
                assert like is not None
                assert like.id == latest[name]
            recent.add(base(number, content), like)
            latest[name] = number


def test_a_body_that_only_looks_alike_takes_no_ones_place() -> None:
    recent = Recent(4)
    main, other = body("main loop", 40), body("main loop", 8)
    recent.add(base(1, main))
    like = recent.choose(pieces_of(other))
    assert like is not None
    assert like.id == 1
    recent.add(base(2, other), like)
    again = recent.choose(pieces_of(body("main loop", 41)))
    assert again is not None
    assert again.id == 1


def test_without_anything_in_common_the_latest_is_chosen() -> None:
    recent = Recent(2)
    assert recent.choose({}) is None
    recent.add(base(1, b"one"))
    recent.add(base(2, b"two"))
    chosen = recent.choose(pieces_of(b"three"))
    assert chosen is not None
    assert chosen.id == 2


def test_only_so_many_bodies_and_bytes_are_kept() -> None:
    recent = Recent(3, limit=100)
    for number, size in enumerate([10, 10, 10, 10, 85, 500]):
        recent.add(base(number, bytes(size)))
        kept = [n for n in range(6) if recent.find(n)]
        assert kept == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [3, 4], [5]][number]
