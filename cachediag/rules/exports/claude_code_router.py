"""Claude Code Router: a custom router, in JavaScript, that routes nothing."""

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from cachediag.errors import UsageError
from cachediag.rules.engine.places import Named, steps
from cachediag.rules.exports.exporter import Export, head
from cachediag.rules.pattern import compiled
from cachediag.rules.rule import Rule

__all__ = ["ClaudeCodeRouter"]

_SCRIPTS = ("places.js", "edits.js", "engine.js", "claude_code_router.js")


class ClaudeCodeRouter:
    """A script for `CUSTOM_ROUTER_PATH`: the engine once more, in JavaScript."""

    name = "claude-code-router"
    title = "Claude Code Router"

    def script(self, export: Export) -> str:
        """The whole script.

        Raises:
            UsageError: the target's name is none of a CommonJS module.
        """
        if export.target.suffix not in (".js", ".cjs"):
            raise UsageError(
                "is no name for a CommonJS module",
                where=str(export.target),
                remedy="Give a name such as -o cachediag-rules.js",
            )
        rules = "".join(f"  {json.dumps(_rule(rule))},\n" for rule in export.rules)
        parts = (
            head(self, export, "//") + '"use strict";\n',
            f"const RULES = [\n{rules}];\n",
            *(_source(name) for name in _SCRIPTS),
        )
        return "\n".join(parts)

    def install(self, target: Path) -> Sequence[str]:
        """Name it in the configuration."""
        return (
            "in ~/.claude-code-router/config.json (from release 3 on: in the settings)",
            f'"CUSTOM_ROUTER_PATH": {json.dumps(str(target))}, the whole path of the file',
        )


def _source(name: str) -> str:
    return files("cachediag.rules.exports.scripts").joinpath(name).read_text(encoding="utf-8")


def _rule(rule: Rule) -> dict[str, Any]:
    """A rule as the JavaScript engine reads it: path and pattern worked out."""
    given = {
        "id": rule.id,
        "action": rule.action,
        "protocol": rule.protocol,
        "steps": [_step(step) for step in steps(rule.path)],
        "match": _match(rule.pattern),
        "value": rule.value,
        "by": rule.by,
        "messages": rule.messages or None,
        "arguments": rule.arguments or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _step(step: object) -> Any:
    if isinstance(step, str | int):
        return step
    return {"name": step.name} if isinstance(step, Named) else {"every": True}


def _match(pattern: str | None) -> dict[str, Any] | None:
    if pattern is None:
        return None
    found = compiled(pattern)
    return {
        "atStart": found.at_start,
        "head": found.head,
        "source": found.source,
        "tries": found.tries,
    }
