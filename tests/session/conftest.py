import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WRITER = Path(__file__).with_name("recording_writer.py")


@pytest.fixture
def start_writer() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    started = []

    def start(path: Path, first: int, count: int) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, str(WRITER), str(path), str(first), str(count)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def mounted(directory: Path) -> bool:
    """Mount a file system of 1 MiB, where that is allowed."""
    if sys.platform != "linux" or os.geteuid() or not shutil.which("mount"):
        return False
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(directory)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    directory = tmp_path / "disk"
    directory.mkdir()
    if not mounted(directory):
        pytest.skip("no right to mount a small disk here")
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


@pytest.fixture
def closing(tmp_path: Path) -> Iterator[tuple[Path, Callable[[], object]]]:
    """A directory, and what makes it unwritable; rights do not hold root back, a mount does."""
    directory = tmp_path / "closing"
    directory.mkdir()
    if mounted(directory):
        remount = ["mount", "-o", "remount,ro", str(directory)]
        yield directory, lambda: subprocess.run(remount, check=True)
        subprocess.run(["umount", str(directory)], check=True)
    else:
        yield directory, lambda: directory.chmod(0o500)
        directory.chmod(0o700)
