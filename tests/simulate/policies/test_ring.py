from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.simulate.policies.ring import Ring
from tests.simulate.fleet import FakeReplica

KEYS = [str(number) for number in range(2_000)]
_SETS = st.sets(st.integers(0, 40), min_size=2, max_size=12)


def owners(ids: list[int]) -> dict[str, int]:
    ring = Ring(160)
    replicas = [FakeReplica(number) for number in ids]
    return {key: ring.find(key, replicas).id for key in KEYS}


@settings(deadline=None, max_examples=30)
@given(_SETS, st.data())
def test_one_that_leaves_moves_its_own_keys_and_no_others(ids: set[int], data) -> None:
    before = owners(sorted(ids))
    gone = data.draw(st.sampled_from(sorted(ids)))
    after = owners(sorted(ids - {gone}))
    assert {key for key in KEYS if before[key] != after[key]} == {
        key for key in KEYS if before[key] == gone
    }


@settings(deadline=None, max_examples=30)
@given(_SETS)
def test_one_that_joins_takes_about_its_share_and_moves_nothing_else(ids: set[int]) -> None:
    before, after = owners(sorted(ids)), owners([*sorted(ids), 41])
    moved = {key for key in KEYS if before[key] != after[key]}
    assert {after[key] for key in moved} == {41}
    share = len(moved) / len(KEYS)
    assert 0.5 / (len(ids) + 1) < share < 1.7 / (len(ids) + 1)


def test_a_ring_follows_the_replicas_that_it_is_given() -> None:
    ring = Ring(160)
    for ids in ([0, 1], [0, 1, 2], [0, 2], [0, 2, 3]):
        replicas = [FakeReplica(number) for number in ids]
        found = [ring.find(key, replicas) for key in KEYS]
        assert all(any(each is replica for replica in replicas) for each in found)
        assert [each.id for each in found] == list(owners(ids).values())
