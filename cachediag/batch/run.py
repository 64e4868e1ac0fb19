"""All sessions, analysed in this process, by processes of this machine, or by a cluster."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from cachediag.batch import forking
from cachediag.batch.model import Named, Outcome, Settings
from cachediag.batch.one import analyse_one
from cachediag.collecting import collect_seldom
from cachediag.extras import has, need

__all__ = ["analyse_all", "default_workers"]


def default_workers() -> int:
    """The cores that this process may use; 1 where Dask is not installed."""
    if not has("distributed"):
        return 1
    from dask.system import CPU_COUNT  # heeds affinity and the limits of a container

    return int(CPU_COUNT)


def analyse_all(
    sessions: Sequence[Named],
    settings: Settings,
    *,
    workers: int = 1,
    cluster: str | None = None,
    told: Callable[[Outcome], None] = lambda _: None,
) -> Iterator[Outcome]:
    """Analyse many sessions.

    Args:
        sessions: the sessions.
        settings: how each of them is analysed.
        workers: processes of this machine; one is this process, without Dask.
        cluster: address of a Dask scheduler whose workers do it instead.
        told: called with each outcome as it comes, in any order.

    Yields:
        The outcomes in the order of the sessions, whatever the order in which they came.

    Raises:
        UsageError: Dask is needed and missing.
        UpstreamError: the cluster cannot be reached, or is lost.
    """
    count = min(workers, len(sessions))
    if cluster is None and count <= 1:
        collect_seldom()
        for named in sessions:
            outcome = analyse_one(named, settings)
            told(outcome)
            yield outcome
        return
    need("distributed", "fleet", f"--workers {workers}" if cluster is None else f"--dask {cluster}")
    if cluster is None:
        forking.start()
    from cachediag.batch.workers import joined, local, outcomes

    with (
        local(count) if cluster is None else joined(cluster) as client,
        closing(outcomes(client, sessions, settings, told)) as found,
    ):
        yield from found
