"""What applying rules adds to a request, against the recorder alone."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure
from benchmarks.material import Agent, dumps
from benchmarks.proxies import WARM_UP, medians, run, serve
from cachediag.rules.file import write_rules
from cachediag.rules.rule import Rule, RuleSet
from cachediag.session import Session

__all__ = ["measure"]

_GROUP = "strip"
_SIZE = 60_000
_REQUESTS = 240
_AIM = 1.1

_RULES = RuleSet(
    (
        Rule(
            id="strip-billing-header",
            finding="V01",
            action="drop-block",
            protocol="messages",
            path="system[0]",
            pattern=r"\Ax-anthropic-billing-header: [ -~]{1,200}\z",
        ),
        Rule(
            id="date-to-the-end",
            finding="V02",
            action="move-to-end",
            protocol="messages",
            path="system[3].text",
            pattern=r"^Today's date is [0-9]{4}-[0-9]{2}-[0-9]{2}\.",
        ),
        Rule(
            id="sort-tools",
            finding="O01",
            action="sort",
            protocol="messages",
            path="tools",
            by="name",
        ),
    )
)


def measure() -> Iterator[Figure]:
    """Send the same 60 KB bodies through the recorder, with and without rules, in turn.

    Raises:
        RuntimeError: a proxy does not start, or not all is recorded, or not all is changed.
    """
    bodies = list(_bodies())
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = f"http://127.0.0.1:{serve(stack)}"
        rules, session = directory / "rules.toml", directory / "session.cachediag"
        rules.write_text(write_rules(_RULES), encoding="utf-8")
        to = ["--upstream", url]
        record = ["-m", "cachediag", "record", *to, "-o", str(directory / "plain.cachediag")]
        both = ["-m", "cachediag", "record", *to, "-o", str(session), "--rules", str(rules)]
        strip = ["-m", "cachediag", "fix", "strip", *to, "--rules", str(rules)]
        commands = {"record": record, "record --rules": both, "fix strip": strip}
        ports = {name: run(name, words, directory, stack) for name, words in commands.items()}
        paused, crowded = medians(ports, bodies)
        _check(session, 2 * len(bodies))
    for name, seconds in paused.items():
        yield Figure(group=_GROUP, name=f"{name}, median", value=1e3 * seconds, unit="ms")
    ratio = paused["record --rules"] / paused["record"]
    yield Figure(group=_GROUP, name="record --rules / record", value=ratio, unit="×", aim=_AIM)
    without = crowded["record --rules"] / crowded["record"]
    yield Figure(
        group=_GROUP, name="record --rules / record, without a pause", value=without, unit="×"
    )


def _bodies() -> Iterator[bytes]:
    """Requests that each of the rules changes."""
    agent = Agent(seed=3)
    while len(dumps(agent.body())) < _SIZE:
        agent.turn(2_000)
    for _ in range(WARM_UP + _REQUESTS):
        body: dict[str, Any] = agent.body()
        last = body["system"][3]
        body["system"][3] = last | {"text": f"{last['text']}\nToday's date is 2026-11-29."}
        yield dumps(body)


def _check(path: Path, sent: int) -> None:
    """Make sure that all has been recorded, and changed, that was sent."""
    with Session.open(path) as session:
        changed = sum(info.outgoing_size is not None for info in session.infos())
        if (len(session), changed) != (sent, sent):
            raise RuntimeError(f"{len(session)} of {sent} exchanges stored, {changed} changed")
