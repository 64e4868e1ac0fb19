"""Rules and bodies to try the stripping with."""

import json
from dataclasses import replace
from typing import Any

from cachediag.rules.file import write_rules
from cachediag.rules.rule import Rule, RuleSet

__all__ = ["DROP", "HEADER", "RULES", "SORT", "TOML", "body", "header"]

HEADER = "x-anthropic-billing-header: cc_version=9.9.9.a1; cc_entrypoint=cli; cch=%05x;"
PATTERN = r"\Ax-anthropic-billing-header: [ -~]{1,200}\z"

DROP = Rule(
    id="strip-billing-header",
    finding="V01",
    action="drop-block",
    protocol="messages",
    path="system[0]",
    pattern=PATTERN,
)
SORT = Rule(
    id="sort-tools", finding="O01", action="sort", protocol="messages", path="tools", by="name"
)
RULES = RuleSet((DROP, SORT))

TOML = write_rules(RuleSet((DROP, replace(SORT, enabled=False))))
"""The rules as a file, the second of them disabled."""


def header(number: int) -> dict[str, str]:
    """The billing block of a request."""
    return {"type": "text", "text": HEADER % number}


def body(number: int, *, stripped: bool = False, said: str = "Dust the clocks.") -> bytes:
    """A request of a conversation, and what the rules make of it."""
    rest: list[Any] = [{"type": "text", "text": "You mind a shop for clocks."}]
    return json.dumps(
        {
            "model": "tiny",
            "system": rest if stripped else [header(number), *rest],
            "tools": [{"name": "Bash"}, {"name": "Read"}],
            "messages": [{"role": "user", "content": said}],
            "n": number,
        }
    ).encode()
