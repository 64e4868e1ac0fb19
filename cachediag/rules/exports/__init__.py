"""Rules as a script for the program that a user's requests pass through already.

To add a program: write a class with `script` and `install` (see `Exporter`) in a file of its own,
and name it in `EXPORTERS`.
"""

from typing import Final

from cachediag.rules.exports.asgi import Asgi
from cachediag.rules.exports.claude_code_router import ClaudeCodeRouter
from cachediag.rules.exports.exporter import MADE_BY, Export, Exporter
from cachediag.rules.exports.litellm import LiteLLM
from cachediag.rules.exports.mitmproxy import Mitmproxy

__all__ = ["EXPORTERS", "MADE_BY", "Export", "Exporter"]

EXPORTERS: Final[dict[str, Exporter]] = {
    exporter.name: exporter for exporter in (ClaudeCodeRouter(), LiteLLM(), Asgi(), Mitmproxy())
}
"""By the name that is given to `--to`."""
