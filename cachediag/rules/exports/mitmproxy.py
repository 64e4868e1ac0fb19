"""mitmproxy: an addon that needs nothing else."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from cachediag.rules.exports.exporter import Export
from cachediag.rules.exports.python import python_script

__all__ = ["Mitmproxy"]


class Mitmproxy:
    """A script for `mitmdump -s`."""

    name = "mitmproxy"
    title = "mitmproxy"

    def script(self, export: Export) -> str:
        """The whole script."""
        return python_script(self, export, "mitmproxy")

    def install(self, target: Path) -> Sequence[str]:
        """Give it to mitmproxy."""
        script = shlex.quote(str(target))
        return (f"mitmdump --mode reverse:http://127.0.0.1:8000 -s {script}",)
