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

_HEADER = Rule(
    id="strip-billing-header",
    finding="V01",
    action="drop-block",
    protocol="messages",
    path="system[0]",
    pattern=r"\Ax-anthropic-billing-header: [ -~]{1,200}\z",
)
_DATE = Rule(
    id="date-to-the-end",
    finding="V02",
    action="move-to-end",
    protocol="messages",
    path="system[3].text",
    pattern=r"^Today's date is [0-9]{4}-[0-9]{2}-[0-9]{2}\.",
)
_ORDER = Rule(
    id="sort-tools", finding="O01", action="sort", protocol="messages", path="tools", by="name"
)
_RULES = {"1 rule": RuleSet((_HEADER,)), "3 rules": RuleSet((_HEADER, _DATE, _ORDER))}
"""Each of them changes every request."""


def measure() -> Iterator[Figure]:
    """Send the same 60 KB bodies through the recorder, without rules, with one and with three.

    Raises:
        RuntimeError: a proxy does not start, or not all is recorded, or not all is changed.
    """
    bodies = list(_bodies())
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = f"http://127.0.0.1:{serve(stack)}"
        ports = {
            name: run(name, [*_command(name, directory), "--upstream", url], directory, stack)
            for name in ("no rule", *_RULES)
        }
        paused, crowded = medians(ports, bodies)
        for name in _RULES:
            _check(directory / f"{name}.cachediag", 2 * len(bodies))
    for name, seconds in paused.items():
        yield Figure(group=_GROUP, name=f"record, {name}, median", value=1e3 * seconds, unit="ms")
    for name in _RULES:
        ratio = paused[name] / paused["no rule"]
        yield Figure(group=_GROUP, name=f"{name} / no rule", value=ratio, unit="×", aim=_AIM)
    for name in _RULES:
        ratio = crowded[name] / crowded["no rule"]
        label = f"{name} / no rule, without a pause"
        yield Figure(group=_GROUP, name=label, value=ratio, unit="×")


def _command(name: str, directory: Path) -> list[str]:
    """What records with the rules of a name, or with none."""
    words = ["-m", "cachediag", "record", "-o", str(directory / f"{name}.cachediag")]
    if name in _RULES:
        rules = directory / f"{name}.toml"
        rules.write_text(write_rules(_RULES[name]), encoding="utf-8")
        words += ["--rules", str(rules)]
    return words


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
