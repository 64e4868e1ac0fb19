"""A home directory to work in, with a recording of Claude Code."""

from dataclasses import replace
from pathlib import Path

import pytest

from cachediag.fix.switches import clients
from cachediag.session import Session
from tests.analysis.sessions import main, recorded

AGENT = {"user-agent": "claude-cli/2.1.113 (external, cli)"}
BODIES = [main(header="aaaa1"), main("t1", header="aaaa2"), main("t1", "t2", header="aaaa3")]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home directory; `stock` is the one recording, and nothing is set for any client."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "data"))
    for name in (switch.name for client in clients() for switch in client.switches):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data" / "sessions" / "stock.cachediag"
    path.parent.mkdir(parents=True)
    with Session.create(path) as made:
        for exchange in recorded(BODIES, dict.fromkeys(range(3), AGENT)):
            # As a proxy with rules has sent it on.
            made.append(replace(exchange, outgoing=exchange.request.replace(b"cch=", b"was=")))
    return tmp_path
