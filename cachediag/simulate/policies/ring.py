"""Consistent hashing: keys and replicas on a ring, each key served by the next replica on it.

After Karger and others, "Consistent hashing and random trees" (STOC 1997),
https://doi.org/10.1145/258533.258660
"""

from bisect import bisect_right
from collections.abc import Sequence
from hashlib import blake2b

from cachediag.simulate.model import Replica

__all__ = ["Ring"]


class Ring:
    """The ring. A replica that joins or leaves moves only the keys that it takes or had.

    Where a key or a replica stands is told by BLAKE2b of its name, so it is the same in every
    process. What two keys are served by one replica is luck, so it is another one for each seed.

    Args:
        virtual_nodes: places that each replica has on it.
        seed: salts the hash.
    """

    def __init__(self, virtual_nodes: int, seed: int = 0) -> None:
        self._virtual_nodes = virtual_nodes
        self._salt = seed.to_bytes(blake2b.SALT_SIZE)
        self._ids: list[int] = []
        self._places: list[int] = []
        self._owners: list[int] = []
        """At each place, which of the replicas stands there, by its number in their list."""

    def find(self, key: str, replicas: Sequence[Replica]) -> Replica:
        """The replica that serves a key.

        Args:
            key: any text.
            replicas: those there are now.
        """
        ids = [each.id for each in replicas]
        if ids != self._ids:
            self._place(ids)
        return replicas[
            self._owners[bisect_right(self._places, self._where(key)) % len(self._places)]
        ]

    def _place(self, ids: list[int]) -> None:
        self._ids = ids
        ring = sorted(
            (self._where(f"{number}/{node}"), index)
            for index, number in enumerate(ids)
            for node in range(self._virtual_nodes)
        )
        self._places = [place for place, _ in ring]
        self._owners = [index for _, index in ring]

    def _where(self, name: str) -> int:
        digest = blake2b(name.encode(), digest_size=8, salt=self._salt).digest()
        return int.from_bytes(digest)
