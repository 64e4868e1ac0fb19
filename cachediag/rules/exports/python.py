"""A script in Python: one file that holds the engine, the rules, and what the carrier calls."""

from dataclasses import fields

from cachediag.errors import UsageError
from cachediag.rules.exports.bundle import bundle
from cachediag.rules.exports.exporter import Export, Exporter, head
from cachediag.rules.rule import Rule

__all__ = ["python_script"]

_SCRIPTS = "cachediag.rules.exports.scripts"
_PLAYS_NO_PART = ("enabled", "evidence")
# Some carriers load a script without registering it, and dataclasses look for their module.
_REGISTER = """\
import sys
import types

sys.modules.setdefault(__name__, types.ModuleType(__name__))
"""
_UNREGISTER = """\
if sys.modules[__name__].__dict__ is not globals():
    del sys.modules[__name__]
"""


def python_script(exporter: Exporter, export: Export, entry: str) -> str:
    """The whole script.

    Args:
        exporter: whose script it is.
        export: what it is made from.
        entry: the module that holds what the carrier calls, one of `exports/scripts/`.

    Raises:
        UsageError: Python could not import a file of the target's name.
    """
    target = export.target
    if target.suffix != ".py" or not target.stem.isidentifier():
        raise UsageError(
            "is no name for a Python module",
            where=str(target),
            remedy="Give a name such as -o cachediag_rules.py",
        )
    code = bundle(f"{_SCRIPTS}.{entry}", {"RULES": _rules(export.rules)})
    return "\n\n".join((head(exporter, export, "#"), _REGISTER, code, _UNREGISTER))


def _rules(rules: tuple[Rule, ...]) -> str:
    return f"RULES: tuple[Rule, ...] = (\n{''.join(map(_rule, rules))})\n"


def _rule(rule: Rule) -> str:
    given = (
        f"        {field.name}={value!a},\n"
        for field in fields(Rule)
        if field.name not in _PLAYS_NO_PART
        and (value := getattr(rule, field.name)) != field.default
    )
    return f"    Rule(\n{''.join(given)}    ),\n"
