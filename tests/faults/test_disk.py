"""The disk is full in the midst of a recording, and then it is not."""

import asyncio
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Received
from tests.faults.net import Net, Reply, ask
from tests.faults.recorder import recording
from tests.session.conftest import mounted

# Where no small disk can be mounted, files that may not grow stand in for one.
LIMITED = """
import resource, signal, threading, time
from pathlib import Path

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)

def wait() -> None:
    while Path({ballast!r}).exists():
        time.sleep(0.01)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

from cachediag.cli import main

resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, most))
threading.Thread(target=wait, daemon=True).start()
main()
"""


@dataclass(frozen=True)
class Disk:
    """A directory that holds about 400 KB until `free` is called."""

    directory: Path
    program: tuple[str, ...]
    free: Callable[[], None]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    directory = tmp_path / "disk"
    directory.mkdir()
    ballast = directory / "ballast"
    if mounted(directory):
        ballast.write_bytes(bytes(600_000))
        yield Disk(directory, ("-m", "cachediag"), ballast.unlink)
        subprocess.run(["umount", str(directory)], check=True)
    else:
        ballast.touch()
        program = ("-c", LIMITED.format(ballast=str(ballast)))
        yield Disk(directory, program, ballast.unlink)


def test_what_does_not_fit_is_lost_alone_and_recording_goes_on_when_it_does(
    net: Net, disk: Disk, tmp_path: Path
):
    chance = random.Random(5)

    async def answer(request: Received, reply: Reply) -> None:
        await reply.body(b"answer to " + request.body[:20])

    async def turns(requests: list[bytes]) -> None:
        for start in range(0, len(requests), 4):
            now = requests[start : start + 4]
            answers = await asyncio.gather(*(ask(recorder.url, each) for each in now))
            for request, got in zip(now, answers, strict=True):
                assert got.body == b"answer to " + request[:20]

    def request(number: int, size: int) -> bytes:
        return b'{"model":"m-%03d","x":"%s"}' % (number, chance.randbytes(size).hex().encode())

    net.answer = answer
    early = [request(number, chance.randrange(20_000, 30_000)) for number in range(14)]
    late = [request(100 + number, 10_000) for number in range(6)]
    path = disk.directory / "s.cachediag"
    with recording(net.url, tmp_path, program=disk.program, path=path) as recorder:
        net.run(turns(early))
        recorder.saw("the exchange was passed on unrecorded")
        while_full = recorder.exchanges()
        disk.free()
        net.run(turns(late))
        recorder.the_one(late[-1])
        assert recorder.end() == 0
        after = recorder.exchanges()
    assert after[: len(while_full)] == while_full
    requests = [each.request for each in after]
    assert 4 <= len(while_full) < len(early)
    assert set(requests) <= {*early, *late}
    assert len(set(requests)) == len(requests)
    assert set(late) <= set(requests)
    assert all(each.response == b"answer to " + each.request[:20] for each in after)
    (told,) = recorder.told()
    assert re.search("disk is full|input/output error", told)
    assert told.endswith("; the exchange was passed on unrecorded, later ones are tried again")
    lost = len(early) + len(late) - len(requests)
    assert f"\n{lost} exchanges passed unrecorded\n" in recorder.said()
