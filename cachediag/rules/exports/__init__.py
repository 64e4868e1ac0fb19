"""Rules as a script for the program that a user's requests pass through already.

To add a program: write a class with `script` and `install` (see `Exporter`) in a file of its own,
and name it in `EXPORTERS`.
"""

from typing import Final

from cachediag.errors import UsageError
from cachediag.rules.exports.asgi import Asgi
from cachediag.rules.exports.claude_code_router import ClaudeCodeRouter
from cachediag.rules.exports.exporter import Export, Exporter
from cachediag.rules.exports.litellm import LiteLLM
from cachediag.rules.exports.mitmproxy import Mitmproxy
from cachediag.rules.exports.writing import write_export

__all__ = ["EXPORTERS", "Export", "Exporter", "exporter_of", "write_export"]

EXPORTERS: Final[dict[str, Exporter]] = {
    exporter.name: exporter for exporter in (ClaudeCodeRouter(), LiteLLM(), Asgi(), Mitmproxy())
}
"""By the name that is given to `--to`."""


def exporter_of(name: str) -> Exporter:
    """The exporter of a name.

    Raises:
        UsageError: there is none.
    """
    if name not in EXPORTERS:
        raise UsageError(
            f"{name!r} is nothing that rules can be exported to",
            remedy=f"Choose one of {', '.join(EXPORTERS)}.",
        )
    return EXPORTERS[name]
