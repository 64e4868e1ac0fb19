"""Keys of blocks: equal keys, equal prefixes, in every process."""

from array import array
from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from cachediag.simulate.workloads.keys import Keyed, keyed, root
from cachediag.tokens.sequence import Chunk, TokenSequence
from tests.simulate.workloads.following import head

IDS = st.lists(st.integers(0, 1), min_size=0, max_size=60)


def sequence(ids: list[int], cut: int = 7) -> TokenSequence:
    """Tokens in chunks that no other sequence has."""
    parts = [ids[at : at + cut] for at in range(0, len(ids), cut)]
    return TokenSequence(Chunk(array("I", part), repr(part).encode()) for part in parts)


def test_a_key_is_made_of_the_one_before_and_the_ids() -> None:
    before, keys = root("a model"), []
    for ids in ([1, 2, 3], [4]):
        raw = before.to_bytes(8, "little") + array("I", ids).tobytes()
        before = int.from_bytes(blake2b(raw, digest_size=8).digest(), "little") >> 1
        keys.append(before)
    assert keyed(sequence([1, 2, 3, 4]), 3, root("a model"), None).keys == tuple(keys)
    assert all(0 <= key < 2**63 for key in keys)
    assert root("a model") != root("another")


@given(a=IDS, b=IDS, same=IDS, block=st.integers(1, 9), cut=st.integers(1, 9))
def test_keys_are_equal_as_far_as_the_blocks_are(
    *, a: list[int], b: list[int], same: list[int], block: int, cut: int
) -> None:
    one = keyed(sequence(same + a), block, root(""), None)
    other = keyed(sequence(same + b, cut), block, root(""), None)
    blocks = [
        tuple(tuple(ids[at : at + block]) for at in range(0, len(ids), block))
        for ids in (same + a, same + b)
    ]
    shared = next(
        (n for n, (x, y) in enumerate(zip(*blocks, strict=False)) if x != y),
        min(map(len, blocks)),
    )
    assert head(one.keys, other.keys) == shared
    assert len({*one.keys, *other.keys}) == len(blocks[0]) + len(blocks[1]) - shared


@given(a=IDS, b=IDS, same=IDS, block=st.integers(1, 9), cut=st.integers(1, 9))
def test_what_is_taken_over_from_another_prompt_changes_no_key(
    *, a: list[int], b: list[int], same: list[int], block: int, cut: int
) -> None:
    alone = keyed(sequence(same + b), block, root(""), None)
    known = keyed(sequence(same + a, cut), block, root(""), None)
    assert keyed(sequence(same + b), block, root(""), known).keys == alone.keys


def test_shared_blocks_are_not_hashed_again() -> None:
    shared = sequence([1] * 40).chunks
    known = Keyed(TokenSequence(shared), tuple(range(10)))
    longer = TokenSequence([*shared, *sequence([2] * 4).chunks])
    assert keyed(longer, 4, root(""), known).keys[:10] == tuple(range(10))
