"""Sessions handed to Dask's workers, one a task, and what comes back put in order."""

import logging
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import forkserver
from pathlib import Path
from typing import Final

import dask
from distributed import CancelledError, Client, Future, LocalCluster, as_completed, get_worker
from distributed.scheduler import KilledWorker
from distributed.security import Security
from distributed.utils import get_mp_context

from cachediag.batch.model import Failed, Named, Outcome, Settings
from cachediag.batch.one import analyse_one
from cachediag.collecting import collect_seldom
from cachediag.errors import UpstreamError

__all__ = ["dask_setup", "joined", "local", "outcomes"]

_ALLOWED_DEATHS: Final = 2
"""Of workers, in which a session is tried again."""
_AHEAD: Final = 1_000
"""Sessions that may be done before an earlier one is: their outcomes wait in memory."""
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
            "distributed.worker.multiprocessing-method": _method(),
            # Dask serves HTTP whatever it is told; this leaves nothing to be served.
            _ROUTES.format("scheduler"): [],
            _ROUTES.format("worker"): [],
        }
        with dask.config.set(settings), ExitStack() as stack:
            # Workers that are half begun could not be ended.
            with _held_back():
                _start_server()
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
    running: dict[Future[Outcome], int] = {}
    suspects: list[int] = []
    coming = as_completed(loop=client.loop)
    unsent = iter(range(len(sessions)))
    first = last = 0

    def send(number: int) -> None:
        future = client.submit(_on_worker, sessions[number], settings, pure=False)
        running[future] = number
        coming.add(future)

    while first < len(sessions):
        # No more at a time than there are threads: what waits at a worker that ends is blamed too.
        while not suspects and last < first + _AHEAD and len(running) < _threads(client):
            number = next(unsent, None)
            if number is None:
                break
            send(number)
            last = number
        alone = not running
        if alone:
            send(suspects.pop())
        future = next(coming)
        number = running.pop(future)
        outcome = _outcome(future, sessions[number], last_try=alone)
        if outcome is None:
            suspects.append(number)
            continue
        told(outcome)
        done[number] = outcome
        while first in done:
            yield done.pop(first)
            first += 1


def _on_worker(named: Named, settings: Settings) -> Outcome:
    collect_seldom()
    # Dask removes it with the worker, however that ends.
    return analyse_one(named, settings, Path(get_worker().local_directory))


def _outcome(future: "Future[Outcome]", named: Named, *, last_try: bool) -> Outcome | None:
    """What came of a session; None where it is to be tried with nothing beside it."""
    try:
        return future.result()
    except KilledWorker:
        if not last_try:
            return None
        return Failed(
            named.label,
            "its analysis ended every worker that tried",
            "Analyse it alone to see why; it may need more memory than there is",
        )
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


def _method() -> str:
    # Elsewhere a process that was forked may not use the system's own libraries.
    return "forkserver" if sys.platform == "linux" else "spawn"


def _start_server() -> None:
    """Start what workers are forked from, with what every worker needs imported once.

    Ctrl-C reaches every process of a terminal, and is for this one alone. What is ignored here
    when a process starts stays ignored there.
    """
    if _method() != "forkserver":
        return
    get_mp_context().set_forkserver_preload(["distributed", __name__])
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)


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
    """Called by Dask in each worker as it starts: see `_start_server`."""
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
