"""LiteLLM's proxy: a callback."""

from collections.abc import Sequence
from pathlib import Path

from cachediag.rules.exports.exporter import Export
from cachediag.rules.exports.python import python_script

__all__ = ["LiteLLM"]


class LiteLLM:
    """A `CustomLogger` whose hook changes a request before it is routed."""

    name = "litellm"
    title = "LiteLLM's proxy"

    def script(self, export: Export) -> str:
        """The whole script."""
        return python_script(self, export, "litellm")

    def install(self, target: Path) -> Sequence[str]:
        """Name it as a callback."""
        return (
            "put it beside the proxy's config.yaml, and in that file",
            "litellm_settings:",
            f"  callbacks: {target.stem}.cachediag_rules",
        )
