"""`cachediag lint`: what the tools and response formats of a session ask of a decoder."""

from enum import StrEnum
from typing import Annotated

import typer

from cachediag.cli.console import out, write
from cachediag.cli.options import (
    Format,
    FormatOption,
    IncomingOption,
    SessionArgument,
    source,
)

__all__ = ["lint"]


class DecoderName(StrEnum):
    """A library that constrains what a model writes."""

    xgrammar = "xgrammar"
    llguidance = "llguidance"
    lm_format_enforcer = "lm-format-enforcer"
    outlines = "outlines"


def lint(  # noqa: PLR0917 - a parameter is an option
    session: SessionArgument = None,
    decoder: Annotated[
        list[DecoderName] | None,
        typer.Option(
            help="The library that constrains the output on your server; by default all are judged."
            " May be given several times.",
            show_default=False,
        ),
    ] = None,
    incoming: IncomingOption = False,
    format_: FormatOption = Format.text,
) -> None:
    """Say what tool and response schemas cost: what decoders ignore or refuse, what changes.

    Ends with 1 where something was found that costs tokens, time or a failed request.

    \b
    Examples:
      cachediag lint                        the newest recording
      cachediag lint --decoder xgrammar     for a server that decodes with xgrammar
      cachediag lint request.json           one body
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.lint.linted import DECODERS
    from cachediag.lint.linted import lint as judge
    from cachediag.report import documents
    from cachediag.report.lint import LintReport
    from cachediag.report.lint_documents import linted

    opened = source(session, incoming=incoming)
    made = judge(opened, tuple(decoder) if decoder else DECODERS)
    if format_ is Format.json:
        write(documents.dumps(linted(made, session=opened.name)))
    else:
        out().print(LintReport(made, opened.name))
    if any(each.finding.severity != "info" for each in made.found):
        raise typer.Exit(1)
