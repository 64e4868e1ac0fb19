"""Sessions handed to Dask's workers, one a task, and what comes back put in order."""

import logging
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import dask
from distributed import CancelledError, Client, Future, LocalCluster, as_completed, get_worker
from distributed.scheduler import KilledWorker
from distributed.security import Security
from tornado.ioloop import PeriodicCallback

from cachediag.batch.forking import METHOD
from cachediag.batch.model import Failed, Named, Outcome, Settings
from cachediag.batch.one import analyse_one
from cachediag.collecting import collect_seldom
from cachediag.errors import UpstreamError

__all__ = ["dask_setup", "joined", "local", "outcomes"]

_ALLOWED_DEATHS: Final = 2
"""Of workers, in which a session is tried again."""
_AHEAD: Final = 1_000
"""Sessions that may be done before an earlier one is: their outcomes wait in memory."""
_TASK_SECONDS: Final = 1.0
"""That a worker is given work for at a time: each message to it costs both sides milliseconds."""
_LEAST_SECONDS: Final = 0.01
_LOST_SECONDS: Final = 5
"""After which a worker that has not come back is given up and another one started: Dask gives up
restarting one that ends before it is known to have begun, and would wait for ever."""
_REFILL_SECONDS: Final = 1
_CONNECT_SECONDS: Final = 10
_SILENT: Final = logging.CRITICAL + 1
_ROUTES: Final = "distributed.{}.http.routes"


@contextmanager
def local(workers: int) -> Iterator[Client]:
    """Have some processes of this machine, which end with the block.

    They are reached on loopback alone, and by nobody without the certificate that is made for
    them: whoever reached a scheduler could have it run anything. No dashboard is served.

    Args:
        workers: how many.
    """
    with tempfile.TemporaryDirectory(prefix="cachediag-") as scratch, _quiet():
        settings = {
            "temporary-directory": scratch,
            "distributed.scheduler.allowed-failures": _ALLOWED_DEATHS,
            "distributed.worker.multiprocessing-method": METHOD,
            "distributed.deploy.lost-worker-timeout": f"{_LOST_SECONDS}s",
            # A worker would stop a hundred times a second to see what it is doing.
            "distributed.worker.profile.enabled": False,
            "distributed.admin.tick.interval": "1s",
            # Dask serves HTTP whatever it is told; this leaves nothing to be served.
            _ROUTES.format("scheduler"): [],
            _ROUTES.format("worker"): [],
        }
        with dask.config.set(settings), ExitStack() as stack:
            # Workers that are half begun could not be ended.
            with _held_back():
                cluster = stack.enter_context(
                    LocalCluster(
                        n_workers=workers,
                        threads_per_worker=1,
                        processes=True,
                        host="127.0.0.1",
                        security=Security.temporary(),
                        scheduler_port=0,
                        dashboard_address=None,
                        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                        # With a share of the memory each, a long session would fail among many
                        # workers that does not fail with one.
                        memory_limit=0,
                        local_directory=scratch,
                        # Each connection's key lies there for a moment, and stays where a worker
                        # is killed just then.
                        env={"TMPDIR": scratch},
                        preload=[__name__],
                        silence_logs=_SILENT,
                    )
                )
                client = stack.enter_context(Client(cluster, set_as_default=False))
                refill = PeriodicCallback(lambda: cluster.scale(workers), 1e3 * _REFILL_SECONDS)
                cluster.loop.add_callback(refill.start)
                stack.callback(cluster.loop.add_callback, refill.stop)
            yield client


@contextmanager
def joined(address: str) -> Iterator[Client]:
    """Have the workers of a cluster that is there already, and that stays.

    Args:
        address: of its scheduler.

    Raises:
        UpstreamError: no scheduler answers there.
    """
    with _quiet():
        try:
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, RuntimeError, TypeError) as error:
            raise UpstreamError(
                "no Dask scheduler answers",
                where=f"--dask {address}",
                remedy="Start one (dask scheduler), or leave --dask out to use this machine",
            ) from error
        with client:
            yield client


def outcomes(
    client: Client,
    sessions: Sequence[Named],
    settings: Settings,
    told: Callable[[Outcome], None] = lambda _: None,
) -> Generator[Outcome, None, None]:
    """Have workers analyse sessions.

    A session whose worker ended is tried again on another. One in which workers end again and
    again is tried once more with nothing beside it, so that no other is blamed for it, and then
    reported as failed.

    Args:
        client: of the workers, which have cachediag installed.
        sessions: the sessions.
        settings: how each of them is analysed.
        told: called with each outcome as it comes, in any order.

    Yields:
        The outcomes, in the order of the sessions.

    Raises:
        UpstreamError: the cluster is lost, or its workers cannot do the work.
    """
    done: dict[int, Outcome] = {}
    running: dict[Future[list[Outcome]], tuple[range, float]] = {}
    suspects: list[int] = []
    coming = as_completed(loop=client.loop)
    first = last = 0
    pace = _TASK_SECONDS

    def send(numbers: range) -> None:
        some = [sessions[number] for number in numbers]
        future = client.submit(_on_worker, some, settings, pure=False)
        running[future] = numbers, time.monotonic()
        coming.add(future)

    while first < len(sessions):
        threads = _threads(client)
        unsent = min(len(sessions), first + _AHEAD) - last
        # No more at a time than there are threads: what waits at a worker that ends is blamed too.
        if not suspects and unsent and len(running) < threads:
            # Fewer towards the end, so that all threads end together.
            together = max(1, min(int(_TASK_SECONDS / pace), unsent // (2 * threads)))
            send(range(last, last + together))
            last += together
            continue
        alone = not running
        if alone:
            number = suspects.pop()
            send(range(number, number + 1))
        future = next(coming)
        numbers, sent = running.pop(future)
        found = _outcomes(future, sessions, numbers, last_try=alone)
        if found is None:
            suspects.extend(numbers)
            continue
        pace = max((time.monotonic() - sent) / len(numbers), _LEAST_SECONDS)
        for number, outcome in zip(numbers, found, strict=True):
            told(outcome)
            done[number] = outcome
        while first in done:
            yield done.pop(first)
            first += 1


def _on_worker(sessions: Sequence[Named], settings: Settings) -> list[Outcome]:
    collect_seldom()
    # Dask removes it with the worker, however that ends.
    scratch = Path(get_worker().local_directory)
    return [analyse_one(named, settings, scratch) for named in sessions]


def _outcomes(
    future: "Future[list[Outcome]]",
    sessions: Sequence[Named],
    numbers: range,
    *,
    last_try: bool,
) -> list[Outcome] | None:
    """What came of sessions; None where each is to be tried with nothing beside it."""
    try:
        return future.result()
    except KilledWorker:
        if not last_try:
            return None
        return [
            Failed(
                sessions[number].label,
                "its analysis ended every worker that tried",
                "Analyse it alone to see why; it may need more memory than there is",
            )
            for number in numbers
        ]
    except CancelledError as error:
        raise UpstreamError(
            "the Dask cluster was lost", remedy="Run it again; nothing was written"
        ) from error
    except Exception as error:
        raise UpstreamError(
            f"the Dask workers cannot do the work ({type(error).__name__}: {error})",
            remedy="Install the same cachediag on all of them",
        ) from error


def _threads(client: Client) -> int:
    # A cluster that grows with its work begins with none.
    threads: dict[str, int] = client.nthreads()
    return max(1, sum(threads.values()))


@contextmanager
def _held_back() -> Iterator[None]:
    """Have Ctrl-C, and being asked to end, wait for the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {n: signal.signal(n, lambda number, _: came.append(number)) for n in numbers}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        # What failed meanwhile may have failed of it: a whole group of processes is told to end.
        for number in came[:1]:
            signal.raise_signal(number)


def dask_setup(_: object) -> None:
    """Called by Dask in each worker as it starts: see `forking.start`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's own messages off the terminal; what matters is said by who asked."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(_SILENT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
