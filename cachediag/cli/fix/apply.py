"""`cachediag fix apply`: a session as it would have been with rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import out, say, write
from cachediag.cli.options import Format, FormatOption, source
from cachediag.cli.rules.given import GivenArgument, given_files
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cachediag.session import Source

__all__ = ["apply"]

_USAGE = "Write: cachediag fix apply [SESSION] RULES.toml -o FILE"


def apply(
    given: GivenArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The new session file; one that exists is not overwritten.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be changed, and write nothing.")
    ] = False,
    format_: FormatOption = Format.text,
) -> None:
    """Write a session anew, with its requests as rules make them.

    The rules are applied to what the client sent; all else of the session is kept.

    \b
    Examples:
      cachediag fix apply stock rules.toml -o fixed.cachediag
      cachediag fix apply rules.toml --dry-run --format json
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.fix import offline
    from cachediag.fix.tally import Tally
    from cachediag.report import documents
    from cachediag.report.fix import AppliedReport, document
    from cachediag.rules.file import read_rules

    session, file, number = given_files(given, _USAGE)
    if number is not None:
        raise UsageError("rules are applied to a whole session", remedy=_USAGE)
    if (output is None) is not dry_run:
        raise UsageError("give either -o FILE or --dry-run", remedy=_USAGE)
    rules = read_rules(file)
    opened = source(session, incoming=True)
    tally, notes = Tally(rules.enabled), list[str]()
    exchanges = offline.applied(opened, rules.enabled, tally, notes.append)
    if output is None:
        for _ in exchanges:
            pass
    else:
        offline.write(output, exchanges, _meta(opened, file))
    if format_ is Format.json:
        made = document(opened.name, file, rules=rules, tally=tally, written=output, notes=notes)
        write(documents.dumps(made))
        return
    for note in notes:
        say(f"note: {note}")
    out().print(AppliedReport(opened.name, tally, None if output is None else str(output)))


def _meta(opened: "Source", file: Path) -> "Mapping[str, str]":
    from cachediag.session import Session

    meta = dict(opened.meta) if isinstance(opened, Session) else {}
    return meta | {"rules": file.name, "made_from": opened.name}
