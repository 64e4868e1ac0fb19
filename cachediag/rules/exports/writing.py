"""Rules written into a script."""

from pathlib import Path

from cachediag.errors import UsageError
from cachediag.rules.exports.exporter import MADE_BY, Export, Exporter
from cachediag.rules.rule import RuleSet

__all__ = ["write_export"]

_HEAD = 1_000


def write_export(ruleset: RuleSet, exporter: Exporter, source: Path, target: Path) -> Export:
    """Write the enabled rules of a set into a script.

    A script that was exported before is replaced, another file is not.

    Args:
        ruleset: the rules.
        exporter: whose script it is to be.
        source: the rule file, which the script names.
        target: where to write.

    Returns:
        What was written.

    Raises:
        UsageError: no rule is enabled, or the target cannot be written, or must not be.
    """
    if not ruleset.enabled:
        raise UsageError(
            "no rule is enabled",
            where=str(source),
            remedy="Look at each rule, and remove enabled = false where it is right.",
        )
    export = Export(ruleset.enabled, source, target)
    script = exporter.script(export).encode()
    try:
        if target.exists() and MADE_BY.encode() not in _head(target):
            raise UsageError(
                "exists already, and is no exported script",
                where=str(target),
                remedy="Give a new file: -o FILE",
            )
        target.write_bytes(script)
    except OSError as error:
        raise UsageError(f"cannot be written ({error.strerror})", where=str(target)) from error
    return export


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)
