"""Many clients at work on a recorder that is ended in the midst of it."""

import asyncio
import itertools
import json
import random
import signal
import threading
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cachediag.model import Exchange
from cachediag.session import Session
from tests.faults.load import Load, Outcome, Plan, plans
from tests.faults.net import Net
from tests.faults.recorder import Recorder, recording

__all__ = ["Down", "brought_down"]


@dataclass(frozen=True)
class Down:
    """What is left of a recorder that was ended under load."""

    whole: list[Outcome]
    """What clients had got whole, whether or not it was stored."""
    stored: dict[bytes, Exchange]
    """By request."""
    at: float
    """When the signal was sent, by the monotonic clock."""
    before: int
    """Exchanges that another process saw in the session just before."""
    recorder: Recorder

    @cached_property
    def missing(self) -> list[Outcome]:
        """What a client had got whole and is not, or not whole, in the session."""
        return [each for each in self.whole if each.request not in self._kept]

    @cached_property
    def cut(self) -> list[Exchange]:
        """Exchanges that are stored, and are not whole."""
        return [each for request, each in self.stored.items() if request not in self._kept]

    @cached_property
    def _kept(self) -> set[bytes]:
        return {
            request for request, each in self.stored.items() if each.response == answer_to(request)
        }


def answer_to(request: bytes) -> bytes | None:
    if not request:
        # It was still on its way.
        return None
    return b"".join(Plan(*json.loads(request)["plan"]).answer(request))


def brought_down(
    net: Net, directory: Path, number: signal.Signals, seed: int, *, clients: int = 8
) -> Down:
    """Have clients at work, and end the recorder at a random point."""
    chance = random.Random(seed)
    load = Load(lockstep=1)
    net.answer = load.answer
    after, seconds = chance.randrange(5, 30), chance.uniform(0, 0.2)
    sent: list[float] = []
    before: list[int] = []
    served = threading.Event()

    with recording(net.url, directory) as recorder:
        # One stream of plans for all clients: no two exchanges are alike.
        given = itertools.chain.from_iterable(
            plans(seed * 1000 + batch, 64, first=batch * 64, largest=18)
            for batch in itertools.count()
        )

        async def work() -> list[Outcome]:
            got = await asyncio.gather(
                *(load.until_down(recorder.url, given) for _ in range(clients))
            )
            return [outcome for each in got for outcome in each]

        def end() -> None:
            while len(load.sent) < after and not served.wait(0.005):
                pass
            time.sleep(seconds)
            with Session.open(recorder.path) as session:
                before.append(len(session))
            sent.append(time.monotonic())
            recorder.process.send_signal(number)

        thread = threading.Thread(target=end)
        thread.start()
        whole = net.run(work())
        served.set()
        thread.join()
        recorder.process.wait(60)
    with Session.open(recorder.path) as session:
        stored = {each.request: each for each in session.exchanges()}
    return Down([each for each in whole if each.right], stored, sent[0], before[0], recorder)
