"""All requests of a workload, as if each were answered as soon as it is sent."""

from collections import deque
from collections.abc import Iterator

from cachediag.simulate.model import Request, Workload

__all__ = ["everything", "head"]


def everything(workload: Workload, seed: int = 0) -> Iterator[Request]:
    """Every request; clients that go on take turns."""
    waiting = deque(workload.requests(seed))
    while waiting:
        request = waiting.popleft()
        yield request
        if request.then is not None:
            waiting.append(request.then())


def head(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """How many keys two prompts have in common at their heads."""
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
