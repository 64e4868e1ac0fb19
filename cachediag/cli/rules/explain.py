"""`cachediag rules explain`: what each rule does to one request."""

from typing import Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import out, write
from cachediag.cli.options import Format, FormatOption, source
from cachediag.cli.rules.given import given_files

__all__ = ["explain"]

_USAGE = "Write: cachediag rules explain [SESSION] RULES.toml [N]"


def explain(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[SESSION] RULES.toml [N]",
            help="A recording, by default the newest; the rule file; and a request's number, by "
            "default the last one that a rule changes.",
            show_default=False,
            autocompletion=completing.sessions_and_rules,
        ),
    ],
    format_: FormatOption = Format.text,
) -> None:
    """Show what each rule does to one request, before and after.

    Disabled rules show what they would do.

    \b
    Examples:
      cachediag rules explain rules.toml
      cachediag rules explain 2026-11-29-2341 rules.toml 4
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.report import documents, rules_documents
    from cachediag.report.rules import ExplainReport
    from cachediag.rules.explain import explain as explained_rules
    from cachediag.rules.file import read_rules

    words = given_files(given, _USAGE)
    ruleset = read_rules(words.file)
    opened = source(words.session, incoming=True)
    made = explained_rules(opened.name, opened.exchanges(), ruleset, words.number)
    if format_ is Format.json:
        write(documents.dumps(rules_documents.explained(made, opened.name, str(words.file))))
    else:
        out().print(ExplainReport(made, opened.name, str(words.file), words.session or ""))
