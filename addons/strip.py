"""Apply cachediag rules in a mitmproxy of your own.

    mitmdump --mode reverse:http://127.0.0.1:8000 -s strip.py --set cachediag_rules=rules.toml

The file is read again when it changes. Give `-s capture.py` before it to record as well.
"""

import logging
from pathlib import Path

from mitmproxy import ctx
from mitmproxy.addonmanager import Loader
from mitmproxy.log import ALERT

from cachediag.errors import CachediagError
from cachediag.fix.reload import WatchedRules
from cachediag.fix.strip import Strip
from cachediag.fix.tally import Tally
from cachediag.rules.rule import RuleSet

logger = logging.getLogger("cachediag")
tally = Tally()


class RuleFile:
    """Adds the option `cachediag_rules`, and tells at the end what was changed."""

    def __init__(self) -> None:
        self._watched: WatchedRules | None = None

    def load(self, loader: Loader) -> None:
        """Add the option."""
        loader.add_option("cachediag_rules", str, "", "The cachediag rule file to apply.")

    def configure(self, updated: set[str]) -> None:
        """Read the rules, so that what is wrong with them is told at once."""
        file = ctx.options.cachediag_rules
        if "cachediag_rules" in updated and file:
            try:
                self._watched = WatchedRules(Path(file).expanduser(), logger.warning)
            except CachediagError as error:
                # At the start mitmproxy ends where an error is logged.
                logger.error("%s", error)  # noqa: TRY400 - the line says it all

    def rules(self) -> RuleSet:
        """The rules as they stand in the file now; none without one."""
        return self._watched.current() if self._watched else RuleSet()

    def done(self) -> None:
        """Tell what was changed."""
        for rule in tally.rules:
            logger.log(ALERT, "%s: %s requests, %s bytes", rule.rule, rule.requests, rule.bytes)


rule_file = RuleFile()
addons = [rule_file, Strip(rule_file.rules, tell=logger.warning, tally=tally, guest=True)]
