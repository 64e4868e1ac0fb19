"""The recorder, or its client, is ended or stopped while exchanges go on."""

import asyncio
import signal
import sys
import threading

from tests.conftest import Received
from tests.faults.down import brought_down
from tests.faults.load import Load, plans
from tests.faults.net import Net, Reply
from tests.faults.recorder import recording

EVENT = b'data: {"type":"content_block_delta","delta":{"text":"silk"}}\n\n'


def test_told_to_end_it_keeps_all_that_clients_had_whole(net: Net, tmp_path):
    down = brought_down(net, tmp_path, signal.SIGTERM, seed=1)
    assert down.recorder.process.returncode == 0
    assert down.whole
    assert down.missing == []
    # What was still under way is there as well, as far as it came, and says so.
    assert all(each.info.error for each in down.cut)
    assert "Traceback" not in down.recorder.said()
    assert down.recorder.told() == []


def test_killed_it_keeps_all_that_was_in_the_session(net: Net, tmp_path):
    down = brought_down(net, tmp_path, signal.SIGKILL, seed=2)
    assert down.recorder.process.returncode == -signal.SIGKILL
    assert down.before <= len(down.stored)
    assert down.cut == []


CLIENT = """
import os, signal, urllib.request
body = b'{"model":"m"}'
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
answer = urllib.request.urlopen(urllib.request.Request(url, body))
assert b"silk" in answer.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_of_a_client_that_is_killed_the_recording_is_whole(net: Net, tmp_path):
    async def answer(request: Received, reply: Reply) -> None:
        await reply.events()
        await reply.chunk(EVENT)
        assert await reply.reader.read() == b""

    net.answer = answer
    with recording(net.url, tmp_path, client=[sys.executable, "-c", CLIENT]) as recorder:
        assert recorder.process.wait(60) == 128 + signal.SIGKILL
    (exchange,) = recorder.exchanges()
    assert exchange.response == EVENT
    assert exchange.info.error == "Client disconnected."
    assert "1 request, 1 lane" in recorder.said()


def test_stopped_and_continued_it_goes_on_where_it_was(net: Net, tmp_path):
    load = Load(lockstep=8)
    net.answer = load.answer
    given = list(plans(4, 24, largest=18))
    ended = threading.Event()

    def stop_and_continue() -> None:
        while not ended.wait(0.1):
            recorder.process.send_signal(signal.SIGSTOP)
            ended.wait(0.1)
            recorder.process.send_signal(signal.SIGCONT)

    async def work() -> None:
        outcomes = await load.clients(recorder.url, given, 8)
        assert [each.plan.number for each in outcomes if not each.right] == []

    with recording(net.url, tmp_path) as recorder:
        stopping = threading.Thread(target=stop_and_continue)
        stopping.start()
        try:
            net.run(asyncio.wait_for(work(), 120))
        finally:
            ended.set()
            stopping.join()
        stored = {each.request: each.response for each in recorder.stored(len(given))}
        assert recorder.end(signal.SIGTERM) == 0
    for plan in given:
        assert stored[plan.request()] == b"".join(plan.answer(plan.request()))
