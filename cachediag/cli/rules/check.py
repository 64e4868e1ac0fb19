"""`cachediag rules check`: a rule file tried on a session, offline."""

from typing import Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import err, out, write
from cachediag.cli.options import (
    Format,
    FormatOption,
    ModelOption,
    ProfileOption,
    choice_for,
    source,
)
from cachediag.cli.rules.given import GivenArgument, given_files
from cachediag.cli.stripping import live_words
from cachediag.collecting import collect_seldom
from cachediag.errors import UsageError

__all__ = ["check"]

_USAGE = "Write: cachediag rules check [SESSION] RULES.toml"


def check(
    given: GivenArgument,
    profile: ProfileOption = None,
    model: ModelOption = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:k=v]",
            autocompletion=completing.engines,
            help="The cache that is played: llama.cpp:slots=1, vllm, …; by default the profile's.",
        ),
    ] = None,
    format_: FormatOption = Format.text,
) -> None:
    """Try rules on a session: what they save, and if they are safe.

    The session is replayed offline, and what the model no longer sees is shown. Profile and model
    are those that the rules were made for, where none are named. Ends with 1 where a rule is
    refused.

    \b
    Examples:
      cachediag rules check rules.toml
      cachediag rules check demo rules.toml --engine conversation-slots:slots=4
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from rich.progress import track

    from cachediag.report import documents, rules_documents
    from cachediag.report.rules import CheckReport
    from cachediag.rules.check import check as checked_rules
    from cachediag.rules.file import read_rules

    words = given_files(given, _USAGE)
    if words.number is not None:
        raise UsageError("rules are checked against a whole session", remedy=_USAGE)
    ruleset = read_rules(words.file)
    collect_seldom()
    opened = source(words.session, incoming=True)
    choice = choice_for(opened, profile or ruleset.profile, model or ruleset.model, engine=engine)
    console, total = err(), sum(1 for _ in opened.infos())
    exchanges = track(
        opened.exchanges(),
        description="replaying",
        total=total,
        console=console,
        transient=True,
        disable=not console.is_terminal or total < 50,
    )
    made = checked_rules(exchanges, ruleset, choice)
    if format_ is Format.json:
        write(documents.dumps(rules_documents.checked(made, opened.name, str(words.file))))
    else:
        named = words.session or ""
        out().print(CheckReport(made, opened.name, str(words.file), named, live_words(opened)))
    if not made.safe:
        raise typer.Exit(1)
