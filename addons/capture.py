"""Record into a cachediag session from a mitmproxy of your own.

    mitmdump --mode reverse:http://127.0.0.1:8000 -s capture.py --set cachediag_file=my.cachediag

Without the option a new session is made among the recorded ones, as by `cachediag record`.
"""

import logging
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from mitmproxy import ctx
from mitmproxy.addonmanager import Loader
from mitmproxy.log import ALERT

from cachediag.capture.addon import Capture
from cachediag.capture.writer import Writer
from cachediag.session import Session, new_path, register

logger = logging.getLogger("cachediag")


class Settings:
    """Adds the option `cachediag_file`."""

    def load(self, loader: Loader) -> None:
        """Add the option."""
        loader.add_option("cachediag_file", str, "", "The cachediag session to record into.")


@cache
def _path() -> Path:
    file = ctx.options.cachediag_file
    return Path(file).expanduser() if file else new_path(datetime.now(UTC))


def _open() -> Session:
    session = Session.create(_path(), meta={"mode": "mitmproxy"})
    register(_path())
    logger.log(ALERT, "recording to %s", _path())
    return session


addons = [Settings(), Capture(Writer(_open, tell=logger.warning), others=False, guest=True)]
