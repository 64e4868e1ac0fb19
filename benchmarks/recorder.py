"""What recording adds to a request, against a plain `mitmdump` that only passes it on."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.material import Agent, dumps
from benchmarks.proxies import WARM_UP, Medians, medians, run, serve
from cachediag.session import Session

__all__ = ["measure", "ratio"]

_GROUP = "recorder"
_SIZE = 60_000
_REQUESTS = 240
_AIM = 1.1
_ADDON = Path(__file__).parents[1] / "addons" / "capture.py"
_MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"


def ratio() -> float:
    """Give the latency through the recorder, in latencies through a plain `mitmdump`."""
    paused, _ = _medians()
    return paused["cachediag record"] / paused["mitmdump"]


def measure() -> Iterator[Figure]:
    """Send the same 60 KB bodies to a local server: directly, and through each proxy, in turn.

    Raises:
        RuntimeError: a proxy does not start, or not all is recorded.
    """
    paused, crowded = _medians()
    for name, seconds in paused.items():
        yield Figure(group=_GROUP, name=f"{name}, median", value=1e3 * seconds, unit="ms")
    direct, plain, ours = (paused[name] for name in ("direct", "mitmdump", "cachediag record"))
    added = (ours - direct) / (plain - direct)
    yield Figure(group=_GROUP, name="record / mitmdump", value=ours / plain, unit="×", aim=_AIM)
    yield Figure(
        group=_GROUP, name="added by record / by mitmdump", value=added, unit="×", aim=_AIM
    )
    for name, value in (
        ("mitmdump -s capture.py / mitmdump", paused["mitmdump -s capture.py"] / plain),
        ("record / mitmdump, without a pause", crowded["cachediag record"] / crowded["mitmdump"]),
    ):
        yield Figure(group=_GROUP, name=name, value=value, unit="×")


def _medians() -> tuple[Medians, Medians]:
    """Give each way's median seconds: with pauses between requests, and one after the other."""
    agent = Agent(seed=3)
    while len(dumps(agent.body())) < _SIZE:
        agent.turn(2_000)
    bodies = [dumps(agent.body()) for _ in range(WARM_UP + _REQUESTS)]
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found = medians(_start(directory, stack), bodies)
        _check(directory, 2 * len(bodies))
    return found


def _check(directory: Path, sent: int) -> None:
    """Make sure that all has been recorded that was sent."""
    for file in ("record.cachediag", "script.cachediag"):
        with Session.open(directory / file) as session:
            if len(session) != sent:
                raise RuntimeError(f"{file} holds {len(session)} of {sent} exchanges")


def _start(directory: Path, stack: contextlib.ExitStack) -> Mapping[str, int]:
    """Start the server and the proxies; give their ports."""
    server = serve(stack)
    url = f"http://127.0.0.1:{server}"
    confdir = f"confdir={directory / 'confdir'}"
    plain = ["-c", _MITMDUMP, "--mode", f"reverse:{url}@127.0.0.1:0", "--set", confdir]
    file = f"cachediag_file={directory / 'script.cachediag'}"
    session = str(directory / "record.cachediag")
    commands = {
        "mitmdump": plain,
        "cachediag record": ["-m", "cachediag", "record", "--upstream", url, "-o", session],
        "mitmdump -s capture.py": [*plain, "-s", str(_ADDON), "--set", file],
    }
    ports = {name: run(name, words, directory, stack) for name, words in commands.items()}
    return {"direct": server, **ports}
