"""Where Dask's workers come from: a process that has imported once what all of them need.

It imports while this process imports the same, so that neither waits for the other. Nothing of
Dask is imported here.
"""

import multiprocessing
import signal
import sys
import threading
from multiprocessing import forkserver
from typing import Final

__all__ = ["METHOD", "start"]

METHOD: Final = "forkserver" if sys.platform == "linux" else "spawn"
"""How processes begin. Not on Linux, one that was forked may not use the system's libraries."""
_NEEDED: Final = ["distributed", "cachediag.batch.workers"]


def start() -> None:
    """Start the process that workers are forked from, and do not wait for it.

    Ctrl-C reaches every process of a terminal, and is for this one alone. What is ignored here
    when a process starts stays ignored there.
    """
    if METHOD != "forkserver":
        return
    multiprocessing.get_context(METHOD).set_forkserver_preload(_NEEDED)
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        forkserver.ensure_running()
    finally:
        signal.signal(signal.SIGINT, before)
