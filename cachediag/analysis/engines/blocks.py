"""What vLLM, SGLang and omlx share: kept tokens in pages, found by their whole prefix."""

from cachediag.analysis.engines.model import CacheRequest, Reason, Served
from cachediag.analysis.engines.prefix import Pending, evicted
from cachediag.analysis.engines.tree import Held, PrefixTree

__all__ = ["Blocks"]


class Blocks:
    """Kept tokens in pages, found by their whole prefix."""

    def __init__(self, name: str, tree: PrefixTree) -> None:
        self.name = name
        self._tree = tree
        self._pending = Pending()
        self._taken: dict[str, str] = {}

    def serve(self, request: CacheRequest) -> Served:
        """Reuse all whole pages that are kept, but never the prompt's last token."""
        self._pending.run(request.started)
        tree, length = self._tree, len(request.tokens)
        held = tree.hold(request.tokens, request.lane)
        reused = max(0, min(held.matched, length - 1))
        reused -= reused % tree.page
        for lane in held.evicted:
            self._taken[lane] = request.lane
        self._pending.add(request.ended, lambda: self._release(held, request))
        return Served(
            reused,
            created=held.kept - held.matched,
            reason=self._reason(request, reused),
            evicted=held.evicted,
        )

    def _release(self, held: Held, request: CacheRequest) -> None:
        if request.reply is None:
            self._tree.release(held, request.tokens, len(request.tokens), request.lane)
        else:
            # The last token sampled is never fed, so nothing is kept of it.
            length = max(len(request.tokens), len(request.reply) - 1)
            self._tree.release(held, request.reply, length, request.lane)

    def _reason(self, request: CacheRequest, reused: int) -> Reason | None:
        tree = self._tree
        # The last token of a reply is never kept, so one token less is no loss.
        wanted = min(request.shared - 1, len(request.tokens) - 1)
        if reused >= wanted - wanted % tree.page:
            if 0 < wanted < tree.page:
                return Reason("P03", f"shorter than one block of {tree.page} tokens")
            return None
        if tree.capacity is not None and len(request.tokens) > tree.capacity:
            return Reason("P02", "the prompt is longer than the whole cache")
        taker = self._taken.get(request.lane)
        if taker is None:
            return Reason("P04", "what it shares more of was still being generated")
        return evicted(taker, request.lane, slots=False)
