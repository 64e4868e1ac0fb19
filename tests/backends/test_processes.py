import os
import subprocess
import sys
import time

import pytest

from cachediag.backends.processes import end_group, last_line


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ""), ("\n \n", ""), ("one\n two \n\n", "two"), ("x" * 300, "x" * 200)],
)
def test_the_last_line_of_a_log(tmp_path, text, expected):
    log = tmp_path / "log"
    log.write_text(text)
    assert last_line(log) == expected


def test_what_a_process_has_started_ends_with_it(tmp_path):
    told = tmp_path / "child"
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(told)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    while not told.exists() or not told.read_text():
        time.sleep(0.01)
    child = int(told.read_text())
    end_group(process, 0.2)
    process.wait(10)
    assert process.returncode < 0
    deadline = time.monotonic() + 10
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that has ended, and whose new parent has not looked, is there by name alone.
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")
