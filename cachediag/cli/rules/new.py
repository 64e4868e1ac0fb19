"""`cachediag rules new`: the rules that remove what was found in a session."""

from pathlib import Path
from typing import Annotated

import typer

from cachediag.cli.console import err, write
from cachediag.cli.options import (
    ModelOption,
    ProfileOption,
    SessionArgument,
    choice_for,
    source,
)
from cachediag.collecting import collect_seldom
from cachediag.errors import UsageError

__all__ = ["new"]


def new(
    session: SessionArgument = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write; without it the rules are printed.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileOption = None,
    model: ModelOption = None,
) -> None:
    """Write the rules that remove what broke a session's prefixes.

    Each rule says why it is there. One that needs a look by a person first, and one that did not
    hold when it was tried on the session, is not enabled. Findings that no rule answers are named
    at the end of the file.

    \b
    Examples:
      cachediag rules new -o rules.toml
      cachediag rules new demo --profile vllm-mlx@0.3.0 --model qwen3
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from shlex import quote

    from cachediag.report.new_rules import NewRulesReport
    from cachediag.report.safe import printable
    from cachediag.rules.file import write_rules
    from cachediag.rules.generate import generate

    if output is not None and output.exists():
        raise UsageError("exists already", where=str(output), remedy="Give a new file: -o FILE")
    collect_seldom()
    opened = source(session, incoming=True)
    choice = choice_for(opened, profile, model)
    # Nothing is shown where there is no terminal.
    with err().status("looking for what breaks prefixes, and trying rules on the session"):
        made = generate(opened, choice, model)
    if made.ruleset.rules:
        head = f"Made from the session {printable(opened.name)}."
        text = write_rules(made.ruleset, made.notes, head=head, foot=made.foot)
        if output is None:
            write(text)
        else:
            _save(output, text)
    given = quote(session) if session else ""
    file = str(output) if output and made.ruleset.rules else None
    err().print(NewRulesReport(made, opened.name, given, file))


def _save(path: Path, text: str) -> None:
    import os

    try:
        # Values of the recording are in it, which are nobody else's business.
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(text.encode())
    except OSError as error:
        raise UsageError(
            f"cannot be written ({error.strerror})", where=str(path), remedy="Give another: -o FILE"
        ) from error
