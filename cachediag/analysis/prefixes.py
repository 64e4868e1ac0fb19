"""The prefixes of all requests so far, in a radix tree over the digests of their parts."""

from dataclasses import dataclass, field
from typing import NamedTuple

from cachediag.heads import common_head

__all__ = ["Longest", "Prefixes"]

Digests = tuple[bytes, ...]


class Longest(NamedTuple):
    """The longest prefix of a request that was seen before."""

    shared: int
    """Its length in parts."""
    request: int | None
    """A request that begins with it; None where nothing is shared."""
    is_whole: bool
    """That request is just this prefix: the later one appends to it."""


@dataclass(slots=True)
class _Node:
    """A prefix at which requests part or end; `digests[start:end]` leads to it."""

    digests: Digests
    start: int
    end: int
    latest: int
    ended: int | None = None
    children: dict[bytes, "_Node"] = field(default_factory=dict)


class Prefixes:
    """Holds one or two nodes a request, whatever its length."""

    def __init__(self) -> None:
        self._root = _Node((), 0, 0, -1)

    def longest(self, digests: Digests) -> Longest:
        """The longest prefix of a request that an earlier one begins with."""
        node, depth = self._root, 0
        while depth < len(digests) and (child := node.children.get(digests[depth])) is not None:
            shared = common_head(digests, child.digests[: child.end], depth, child.start)
            if shared < child.end - child.start:
                return Longest(depth + shared, child.latest, is_whole=False)
            node, depth = child, depth + shared
        if node is self._root:
            return Longest(0, None, is_whole=False)
        whole = node.ended is not None
        return Longest(depth, node.latest if node.ended is None else node.ended, is_whole=whole)

    def add(self, index: int, digests: Digests) -> None:
        """Remember a request.

        Args:
            index: its number.
            digests: of its parts, in order.
        """
        node, depth = self._root, 0
        while depth < len(digests):
            child = node.children.get(digests[depth])
            if child is None:
                leaf = _Node(digests, depth, len(digests), index, index)
                node.children[digests[depth]] = leaf
                return
            shared = common_head(digests, child.digests[: child.end], depth, child.start)
            if shared < child.end - child.start:
                child = self._split(node, child, shared)
            child.latest = index
            node, depth = child, depth + shared
        node.ended = index

    def _split(self, node: _Node, child: _Node, shared: int) -> _Node:
        """Put a node where a request parts from the way to a child."""
        middle = _Node(child.digests, child.start, child.start + shared, child.latest)
        child.start += shared
        middle.children[child.digests[child.start]] = child
        node.children[middle.digests[middle.start]] = middle
        return middle
