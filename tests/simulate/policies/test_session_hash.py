import pytest

from cachediag.errors import UsageError
from cachediag.simulate.model import Scale
from cachediag.simulate.policies import policy
from tests.simulate.fleet import fleet
from tests.simulate.prompts import request

SESSIONS = "ecahgbd"


def chosen(ids: str) -> list[int]:
    chooser = policy("session-hash:virtual_nodes=2")
    chooser.prepare(Scale(block=4), 0)
    return [chooser.choose(request("1", session=each), fleet(ids), 0.0).id for each in SESSIONS]


def test_a_session_is_served_by_the_next_replica_on_the_ring() -> None:
    """With two places a replica, and seed 0. The beginnings of the digests, in hexadecimal:

    replica 1 at 099b, 2 at 0a43, 3 at 2644, 0 at 2bc4, 1 at 60b6, 2 at 7f10, 3 at 9280, 0 at fff5.

    | session | at | of 0 1 2 | 1 has left | 3 has joined |
    |---|---|---|---|---|
    | e | 10d8 | 0 | 0 | 3 |
    | c | 373f | 1 | 2 | 1 |
    | a | 40f8 | 1 | 2 | 1 |
    | h | 4691 | 1 | 2 | 1 |
    | g | 6c76 | 2 | 2 | 2 |
    | b | 8472 | 0 | 0 | 3 |
    | d | b5a5 | 0 | 0 | 0 |
    """
    assert chosen("012") == [0, 1, 1, 1, 2, 0, 0]
    assert chosen("02") == [0, 2, 2, 2, 2, 0, 0]
    assert chosen("0123") == [3, 1, 1, 1, 2, 3, 0]


def test_the_load_does_not_count() -> None:
    chooser = policy("session-hash")
    chooser.prepare(Scale(block=4), 0)
    idle = chooser.choose(request("1", session="x"), fleet(), 0.0).id
    loads = [900 if number == idle else 0 for number in range(3)]
    asked = request("777", session="x")
    assert chooser.choose(asked, fleet(outstanding=loads), 9.0).id == idle


def test_there_must_be_a_place_on_the_ring() -> None:
    with pytest.raises(UsageError, match=r"^virtual_nodes must be at least 1, not 0$"):
        policy("session-hash:virtual_nodes=0")
