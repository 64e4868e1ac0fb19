"""An ASGI application, such as FastAPI's: a middleware."""

from collections.abc import Sequence
from pathlib import Path

from cachediag.rules.exports.exporter import Export
from cachediag.rules.exports.python import python_script

__all__ = ["Asgi"]


class Asgi:
    """A middleware that changes a request before the application reads it."""

    name = "asgi"
    title = "an ASGI application"

    def script(self, export: Export) -> str:
        """The whole script."""
        return python_script(self, export, "asgi")

    def install(self, target: Path) -> Sequence[str]:
        """Wrap the application in it."""
        return (
            f"from {target.stem} import CachediagRules",
            "app.add_middleware(CachediagRules)      FastAPI, Starlette",
            "app = CachediagRules(app)               any other",
            f"vllm serve … --middleware {target.stem}.CachediagRules",
        )
