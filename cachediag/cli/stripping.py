"""What the commands share that apply rules to live traffic."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cachediag.cli.screen import Screen

if TYPE_CHECKING:
    from cachediag.fix.strip import Strip
    from cachediag.fix.tally import Tally
    from cachediag.report.fix import TallyLine, TallyReport
    from cachediag.session.source import Source

__all__ = ["Stripping", "live_words", "stripping"]

# Compiled where it is used: every command loads this module.
_RUNNER = r"(python|node|npx|npm|pnpm|bunx?|deno|uvx?|pipx|sh|bash|zsh|env|ruby|java)[\d.]*(\.exe)?"


@dataclass(frozen=True, slots=True)
class Stripping:
    """Rules that are applied to what passes, and what came of it so far."""

    addon: "Strip"
    tally: "Tally"

    def line(self) -> "TallyLine":
        """The count so far, in a line."""
        from cachediag.report.fix import TallyLine

        return TallyLine(self.tally)

    def report(self) -> "TallyReport":
        """The count of each rule."""
        from cachediag.report.fix import TallyReport

        return TallyReport(self.tally)


def stripping(path: Path, screen: Screen) -> Stripping:
    """Read the rules, and say which they are.

    Raises:
        InputError: the file cannot be read as rules.
    """
    from cachediag.fix.reload import WatchedRules
    from cachediag.fix.strip import Strip
    from cachediag.fix.tally import Tally
    from cachediag.report.style import count

    watched = WatchedRules(path, screen.warn)
    rules = watched.current()
    enabled = rules.enabled
    screen.say(f"rules of {path}: {len(enabled)} of {count(len(rules.rules), 'rule')} enabled")
    tally = Tally(enabled)
    return Stripping(Strip(watched.current, tell=screen.warn, tally=tally), tally)


def live_words(opened: "Source", server: str | None = None) -> str:
    """The rest of a `fix strip`, behind its rules, that stands where the session was recorded.

    Args:
        opened: the session.
        server: the server's address; by default what was recorded.
    """
    from cachediag.demo.recorded import MADE_UP
    from cachediag.session import Session

    meta = opened.meta if isinstance(opened, Session) else {}
    if meta.get("client") == MADE_UP:
        meta = {}
    upstreams, mode = meta.get("upstream", "").split(), meta.get("mode")
    client = ["--", meta["client"]] if "client" in meta else []
    if client and re.fullmatch(_RUNNER, client[1]):
        # What it ran was not kept.
        client = ["--", "CMD"]
    if server is not None:
        return shlex.join(["--upstream", server, *client])
    if mode == "forward":
        words = ["--mode", "forward", *(client or ["--", "CMD"])]
    elif len(upstreams) == 1:
        words = ["--upstream", *upstreams, *client]
    elif upstreams and client:
        words = client
    else:
        words = ["--upstream", "URL", *client]
    return shlex.join(words)
