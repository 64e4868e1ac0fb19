"""What the commands share that apply rules to live traffic."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cachediag.cli.screen import Screen

if TYPE_CHECKING:
    from cachediag.fix.strip import Strip
    from cachediag.fix.tally import Tally
    from cachediag.report.fix import TallyLine, TallyReport

__all__ = ["Stripping", "stripping"]


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
