"""A radix tree of token prefixes, cut at page boundaries, with a limit and least-recent eviction.

vLLM's chained blocks, SGLang's radix tree and omlx's blocks are this one structure: a block is
found exactly where the whole prefix up to its end was kept before. A node holds only the chunks of
its own tokens, so that the tree grows with new text.
"""

import heapq
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass

from cachediag.analysis.engines.prefix import window
from cachediag.tokens.sequence import Chunk, TokenSequence, agreement

__all__ = ["Held", "PrefixTree"]

# Of how many lanes the place of the latest prompt is remembered.
_LANES = 16


class _Node:
    """A run of tokens below its parent's, from offset `start` to `end` of every prompt here."""

    __slots__ = (
        *("access", "children", "chunks", "end", "first", "key", "lane", "locks", "parent"),
        *("start", "starts"),
    )

    def __init__(self, parent: "_Node | None", key: bytes, start: int, end: int) -> None:
        self.parent = parent
        self.key = key
        self.start = start
        self.end = end
        self.children: dict[bytes, _Node] = {}
        self.chunks: tuple[Chunk, ...] = ()
        self.starts: tuple[int, ...] = (start,)
        self.first = 0
        """Index of the first chunk in the whole prompt."""
        self.lane = ""
        self.locks = 0
        self.access: float = 0

    def take(self, tokens: TokenSequence) -> None:
        """Hold these tokens' chunks for the node's range."""
        self.first = bisect_right(tokens.starts, self.start) - 1
        end = bisect_left(tokens.starts, self.end)
        self.chunks = tokens.chunks[self.first : end]
        self.starts = tokens.starts[self.first : end + 1]

    def agrees(self, tokens: TokenSequence) -> int:
        """The offset up to which a prompt, equal up to the node's start, agrees with the node."""
        equal, first = self.start, self.first
        if first < len(tokens.chunks) and tokens.starts[first] == self.starts[0]:
            theirs = tokens.chunks[first : first + len(self.chunks)]
            if theirs == self.chunks:
                return self.end
            low, high = 0, len(theirs)
            while low < high:
                middle = (low + high + 1) // 2
                if theirs[low:middle] == self.chunks[low:middle]:
                    low = middle
                else:
                    high = middle - 1
            equal = max(equal, self.starts[low])
        found = agreement((self.chunks, self.starts), (tokens.chunks, tokens.starts), equal)
        if found >= self.end:
            # Chunks cut otherwise than the prompt's, as a recorded reply's are: the next prompt
            # that comes by is cut as this one is.
            self.take(tokens)
        return min(found, self.end)


@dataclass(frozen=True, slots=True)
class Held:
    """A prompt's place in the tree while its request runs."""

    matched: int
    """Tokens that were kept before, whole pages."""
    kept: int
    """Tokens of the prompt that are kept now."""
    node: _Node
    tail: _Node | None
    """Stands for the last, partly filled page."""
    evicted: tuple[str, ...]


class PrefixTree:
    """Prefixes that are kept, in pages.

    Args:
        page: tokens in a page; a prefix is found and kept in whole pages.
        capacity: tokens that may be kept, those of running requests included; None for no limit.
        whole_leaves: drop a whole leaf at a time, and as much as is asked for rather than as much
            as is missing (SGLang); else page by page from the end of a leaf (vLLM).
        partial: count a partly filled page, which is never found again (vLLM).
    """

    def __init__(
        self,
        page: int = 1,
        capacity: int | None = None,
        *,
        whole_leaves: bool = False,
        partial: bool = False,
    ) -> None:
        self.page = page
        self.capacity = capacity
        self.used = 0
        """Tokens kept, partly filled pages counted as full."""
        self._whole_leaves = whole_leaves
        self._partial = partial and capacity is not None
        self._root = _Node(None, b"", 0, 0)
        self._clock = 0
        self._leaves: list[tuple[float, int, int, _Node]] = []
        self._pushed = 0
        self._latest: OrderedDict[str, tuple[TokenSequence, _Node]] = OrderedDict()
        """Where the latest prompts of lanes ended: their next ones go on from near there."""

    def match(self, tokens: TokenSequence, length: int | None = None) -> int:
        """How many tokens at the head of a prompt are kept."""
        limit = self._floor(len(tokens) if length is None else length)
        return self._descend(self._root, tokens, limit, cut=False)[1]

    def hold(self, tokens: TokenSequence, lane: str = "") -> Held:
        """Find a prompt and keep it, and hold on to it until it is released."""
        length = self._floor(len(tokens))
        node, matched = self._descend(self._near(tokens, lane), tokens, length, cut=True)
        # What stands above a node that is held has children, and so is never dropped.
        node.locks += 1
        partial = self._partial and len(tokens) > length
        gone = self._make_room(length - matched + (self.page if partial else 0))
        last, kept = self._append(node, tokens, matched, length, lane)
        last.locks += 1
        node.locks -= 1
        tail = self._add_tail(last, lane) if partial and kept == length else None
        self._remember(tokens, last, lane)
        return Held(matched, kept, last, tail, gone)

    def release(self, held: Held, tokens: TokenSequence, length: int, lane: str = "") -> None:
        """Let go of a prompt, and keep its reply too.

        Args:
            held: what holding the prompt returned.
            tokens: the prompt and what was generated after it.
            length: how many of these tokens are kept.
            lane: whose request it was.
        """
        if held.tail is not None:
            self._drop(held.tail)
        whole = self._floor(length)
        node, found = self._descend(held.node, tokens, whole, cut=True)
        node.locks += 1
        partial = self._partial and length > whole
        self._make_room(max(0, whole - found) + (self.page if partial else 0))
        last, kept = self._append(node, tokens, found, whole, lane)
        tail = self._add_tail(last, lane) if partial and kept == whole else None
        node.locks -= 1
        held.node.locks -= 1
        if self.capacity is not None:
            self._clock += 1
            for end in dict.fromkeys((tail or last, last, held.node)):
                self._used(end, lane)

    def visit(self, tokens: TokenSequence, lane: str, now: float, oldest: float) -> tuple[int, int]:
        """Find and keep a prompt in a tree without a limit, whose entries expire when not used.

        Args:
            tokens: the prompt.
            lane: whose request it is.
            now: when it is used.
            oldest: what was last used before this has expired.

        Returns:
            The tokens that were kept and had not expired, and all that were kept.
        """
        length = self._floor(len(tokens))
        node, matched = self._descend(self._near(tokens, lane), tokens, length, cut=True)
        alive = node
        # A prompt uses all nodes on its way, so none is newer than the one above it.
        while alive.parent is not None and alive.access < oldest:
            alive = alive.parent
        last, _ = self._append(node, tokens, matched, length, lane)
        self._remember(tokens, last, lane)
        while last.parent is not None and last.access < now:
            last.access = now
            last = last.parent
        return alive.end, matched

    def _near(self, tokens: TokenSequence, lane: str) -> _Node:
        """The last node that a prompt is known to pass, by the latest prompt of its lane."""
        if lane not in self._latest:
            return self._root
        before, node = self._latest[lane]
        shared = before.shared(tokens)
        while node.end > shared and node.parent is not None:
            node = node.parent
        # A node that was dropped has lost its parent; whatever stands above it counts no more.
        return node if node.parent is not None else self._root

    def _remember(self, tokens: TokenSequence, node: _Node, lane: str) -> None:
        self._latest[lane] = tokens, node
        self._latest.move_to_end(lane)
        if len(self._latest) > _LANES:
            self._latest.popitem(last=False)

    def _floor(self, length: int) -> int:
        return length - length % self.page

    def _descend(
        self, node: _Node, tokens: TokenSequence, limit: int, *, cut: bool
    ) -> tuple[_Node, int]:
        """The last node along a prompt and the offset reached; a node it leaves midway is cut.

        Args:
            node: where to begin: a node whose tokens, and those above it, the prompt begins with.
            tokens: the prompt.
            limit: where to end, at a page.
            cut: False to leave the tree as it is.
        """
        at = min(node.end, limit)
        while at < limit:
            child = node.children.get(window(tokens, at, self.page))
            if child is None:
                break
            at = self._floor(min(child.agrees(tokens), limit))
            if at < child.end:
                node = self._cut(child, at) if cut else child
                break
            node = child
        return node, at

    def _cut(self, node: _Node, at: int) -> _Node:
        """Part a node in two; the upper half is returned."""
        parent = node.parent
        if parent is None:  # pragma: no cover - the root is empty and never cut
            return node
        upper = _Node(parent, node.key, node.start, at)
        high = bisect_left(node.starts, at)
        upper.first, upper.chunks = node.first, node.chunks[:high]
        upper.starts = node.starts[: high + 1]
        upper.lane, upper.access = node.lane, node.access
        parent.children[node.key] = upper
        low = bisect_right(node.starts, at) - 1
        node.parent, node.start = upper, at
        node.first += low
        node.chunks, node.starts = node.chunks[low:], node.starts[low:]
        node.key = self._key(node)
        upper.children[node.key] = node
        return upper

    def _key(self, node: _Node) -> bytes:
        at, ids = 0, node.chunks[0].ids[node.start - node.starts[0] :][: self.page]
        while len(ids) < self.page:
            at += 1
            ids += node.chunks[at].ids[: self.page - len(ids)]
        return ids.tobytes()

    def _append(
        self, node: _Node, tokens: TokenSequence, start: int, end: int, lane: str
    ) -> tuple[_Node, int]:
        """Add what is new below a node, as far as there is room; the last node and its end."""
        if self.capacity is not None:
            end = min(end, start + self._floor(self.capacity - self.used))
        if end <= start:
            return node, start
        leaf = _Node(node, window(tokens, start, self.page), start, end)
        leaf.take(tokens)
        leaf.lane = lane
        node.children[leaf.key] = leaf
        self.used += end - start
        return leaf, end

    def _add_tail(self, node: _Node, lane: str) -> _Node | None:
        if self.capacity is None or self.used + self.page > self.capacity:
            return None
        self._pushed += 1
        # No run of tokens has such a key: its length would be a multiple of four.
        key = b"tail" + self._pushed.to_bytes(9, "big")
        tail = _Node(node, key, node.end, node.end + self.page)
        tail.lane = lane
        node.children[key] = tail
        self.used += self.page
        return tail

    def _used(self, node: _Node, lane: str) -> None:
        node.access, node.lane = self._clock, lane
        self._push(node)

    def _push(self, node: _Node) -> None:
        if node.parent is not None and not node.children and not node.locks:
            self._pushed += 1
            # Of what was let go of at one time, the end goes first.
            heapq.heappush(self._leaves, (node.access, -node.end, self._pushed, node))

    def _make_room(self, needed: int) -> tuple[str, ...]:
        """Drop what was used least recently; the lanes that lose something."""
        if self.capacity is None or self.used + needed <= self.capacity:
            return ()
        goal = needed if self._whole_leaves else self.used + needed - self.capacity
        lanes: dict[str, None] = {}
        while goal > 0 and self._leaves:
            access, _, _, leaf = heapq.heappop(self._leaves)
            if leaf.parent is None or leaf.children or leaf.locks or leaf.access != access:
                continue
            lanes[leaf.lane] = None
            size = leaf.end - leaf.start
            if size > goal and not self._whole_leaves:
                size = -(-goal // self.page) * self.page
            goal -= size
            if size < leaf.end - leaf.start:
                leaf.end -= size
                self.used -= size
                self._push(leaf)
            else:
                self._drop(leaf)
        return tuple(lanes)

    def _drop(self, leaf: _Node) -> None:
        parent = leaf.parent
        if parent is None:  # pragma: no cover - the root is no leaf
            return
        del parent.children[leaf.key]
        leaf.parent = None
        self.used -= leaf.end - leaf.start
        if leaf.access > parent.access:
            # Whatever used the leaf has used what stands above it.
            parent.access, parent.lane = leaf.access, leaf.lane
        self._push(parent)
