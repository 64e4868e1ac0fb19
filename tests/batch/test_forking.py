"""What workers are forked from: started early, and deaf to Ctrl-C."""

import signal
import subprocess
import sys

_PROGRAM = """
import os, signal, sys
from multiprocessing import forkserver
from pathlib import Path
from cachediag.batch import forking

before = signal.getsignal(signal.SIGINT)
forking.start()
assert signal.getsignal(signal.SIGINT) is before
print("distributed" in sys.modules)
status = Path(f"/proc/{forkserver._forkserver._forkserver_pid}/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")))
"""


def test_nothing_of_dask_is_awaited_and_ctrl_c_is_ignored_there() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    ).stdout.split()
    assert said[0] == "False"
    assert int(said[1], 16) >> (signal.SIGINT - 1) & 1
