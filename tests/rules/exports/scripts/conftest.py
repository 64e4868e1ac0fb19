"""Scripts with rules, as an exported one has them, and nothing remembered."""

import json

import pytest

from cachediag.rules.engine.pins import Pins
from cachediag.rules.exports.scripts import common
from cachediag.rules.rule import Rule

HEADER = "x-anthropic-billing-header: cc_version=9.9.9.a1; cc_entrypoint=cli; cch=0a1b2;"
RULES = (
    Rule(
        "header",
        "V01",
        "drop-block",
        "messages",
        "system[0]",
        pattern=r"\Ax-anthropic-billing-header: [ -~]{1,200};\z",
    ),
    Rule("status", "V05", "pin", "messages", "system[*].text", pattern="^Status: ([a-z]{1,9})$"),
    Rule("clock", "V02", "replace", "chat", "messages[0].content", pattern=r"\AIt is (\d+)"),
)


@pytest.fixture(autouse=True)
def script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "RULES", RULES)
    monkeypatch.setattr(common, "_pins", Pins())
    monkeypatch.setattr(common, "_warned", [])


@pytest.fixture
def sent() -> bytes:
    """A request whose header is to go."""
    system = [{"type": "text", "text": text} for text in (HEADER, "Be brief.")]
    return json.dumps({"model": "m", "system": system, "messages": []}).encode()


@pytest.fixture
def ruled(sent: bytes) -> bytes:
    """The same without it."""
    start, end = sent.index(b'{"type"'), sent.rindex(b'{"type"')
    return sent[:start] + sent[end:]
