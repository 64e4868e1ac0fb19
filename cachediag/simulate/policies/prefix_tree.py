"""Which replicas were sent which prefixes: a radix tree of block keys that all of them share.

Each node is a run of blocks that came together, found by its first key alone.
"""

from collections.abc import Sequence

from cachediag.simulate.model import Replica
from cachediag.simulate.runs import agreement, packed

__all__ = ["Node", "PrefixTree", "coarser", "longest", "lowest"]


class Node:
    """Blocks that follow one another, and the replicas that they were sent to."""

    __slots__ = ("first", "holders", "keys", "parent")

    def __init__(self, keys: Sequence[int], parent: "Node | None", first: int) -> None:
        self.keys = keys
        self.parent = parent
        self.first = first
        """The replica by which it came into the tree."""
        self.holders = 0
        """Bit n is set for the replica of id n. Who holds a node holds its parents."""


class PrefixTree:
    """The tree, and for each replica the nodes that it holds."""

    def __init__(self) -> None:
        self._starts: dict[int, Node] = {}
        self.marks: dict[int, dict[Node, float]] = {}
        """For each replica its nodes, each with what the policy notes there: at first 0."""
        self.sizes: dict[int, int] = {}
        """Blocks of each replica's nodes."""

    def path(self, blocks: tuple[int, ...]) -> list[tuple[Node, int]]:
        """The nodes along a prompt, as far as it was seen before.

        Returns:
            Each node with the blocks that agree up to its end, or, for the last one, to where the
            prompt parts from it.
        """
        found = []
        starts, length, end = self._starts, 0, len(blocks)
        while length < end:
            node = starts.get(blocks[length])
            if node is None:
                break
            reach = length + len(node.keys)
            if reach > end or blocks[reach - 1] != node.keys[-1]:
                found.append((node, length + agreement(node.keys, blocks, length)))
                break
            length = reach
            found.append((node, length))
        return found

    def insert(
        self, blocks: tuple[int, ...], replica: int, found: list[tuple[Node, int]] | None = None
    ) -> list[Node]:
        """Note that a replica is sent a prompt.

        Args:
            blocks: of the prompt.
            replica: its id.
            found: the path along the prompt, if it has been asked for and nothing has changed.

        Returns:
            The nodes that the prompt is made of, all of which the replica now holds.
        """
        if found is None:
            found = self.path(blocks)
        path = [node for node, _ in found]
        length = found[-1][1] if found else 0
        if found:
            start = found[-2][1] if len(found) > 1 else 0
            if length - start < len(path[-1].keys):
                path[-1] = self._split(path[-1], length - start)
        if length < len(blocks):
            leaf = Node(packed(blocks[length:]), path[-1] if path else None, replica)
            self._starts[blocks[length]] = leaf
            path.append(leaf)
        bit, marks = 1 << replica, self.marks.setdefault(replica, {})
        for node in reversed(path):
            if node.holders & bit:
                break
            node.holders |= bit
            marks[node] = 0
            self.sizes[replica] = self.sizes.get(replica, 0) + len(node.keys)
        return path

    def drop(self, node: Node, replica: int) -> None:
        """Take a node from a replica, which must not hold any below it."""
        node.holders ^= 1 << replica
        del self.marks[replica][node]
        self.sizes[replica] -= len(node.keys)
        if not node.holders:
            del self._starts[node.keys[0]]

    def remove(self, replica: int) -> None:
        """Take all nodes from a replica."""
        for node in list(self.marks.get(replica, ())):
            self.drop(node, replica)
        self.marks.pop(replica, None)
        self.sizes.pop(replica, None)

    def _split(self, node: Node, length: int) -> Node:
        """Cut a node after so many blocks; returns the upper part, which is a new one."""
        upper = Node(node.keys[:length], node.parent, node.first)
        upper.holders = node.holders
        node.keys, node.parent = node.keys[length:], upper
        self._starts[upper.keys[0]] = upper
        self._starts[node.keys[0]] = node
        holders = node.holders
        while holders:
            marks = self.marks[lowest(holders)]
            marks[upper] = marks[node]
            holders &= holders - 1
        return upper


def lowest(holders: int) -> int:
    """The lowest id among the holders of a node."""
    return (holders & -holders).bit_length() - 1


def longest(
    path: list[tuple[Node, int]], replicas: Sequence[Replica]
) -> tuple[Sequence[Replica], int]:
    """Those of some replicas that hold the most of a prompt; all of them where none holds any.

    Args:
        path: the nodes along the prompt.
        replicas: at least one.

    Returns:
        The replicas, and how many blocks they hold.
    """
    for node, length in reversed(path):
        holders = node.holders
        found = [each for each in replicas if holders >> each.id & 1]
        if found:
            return found, length
    return replicas, 0


def coarser(blocks: tuple[int, ...], step: int) -> tuple[int, ...]:
    """The keys of a prompt in chunks of so many blocks; the last chunk may be shorter."""
    if step == 1:
        return blocks
    chunks = blocks[step - 1 :: step]
    return chunks + blocks[-1:] if len(blocks) % step else chunks
