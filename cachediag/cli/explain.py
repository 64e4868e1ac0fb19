"""`cachediag explain`: a finding's page of the catalogue."""

from typing import Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import out

__all__ = ["explain"]


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="[CODE]",
            help="Such as V01; without it, the list of codes.",
            autocompletion=completing.codes,
        ),
    ] = None,
) -> None:
    """Explain a finding: what it is, why it costs, and what to do.

    \b
    Examples:
      cachediag explain                     the list of codes
      cachediag explain V01
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag import findings
    from cachediag.report.catalogue import CatalogueReport, PageReport

    if code is None:
        out().print(CatalogueReport(tuple(findings.load(each) for each in findings.all_codes())))
    else:
        out().print(PageReport(findings.load(code)))
