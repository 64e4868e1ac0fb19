"""`cachediag rules export`: rules as a script for what carries a user's traffic."""

from pathlib import Path
from typing import Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import err

__all__ = ["export"]


def export(
    file: Annotated[
        Path, typer.Argument(metavar="RULES.toml", help="A rule file.", show_default=False)
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="NAME",
            help="What loads the script: claude-code-router, litellm, asgi or mitmproxy.",
            show_default=False,
            autocompletion=completing.exporters,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write; a script that was exported before is replaced.",
            show_default=False,
        ),
    ],
) -> None:
    """Write rules as a script for what your requests pass through.

    The script holds the enabled rules and the engine, and needs no cachediag. Where a rule cannot
    be applied the request goes on as it came, and the script says so once.

    \b
    Examples:
      cachediag rules export rules.toml --to litellm -o cachediag_rules.py
      cachediag rules export rules.toml --to claude-code-router -o rules.js
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.report.safe import printable
    from cachediag.report.style import count
    from cachediag.rules.exports import exporter_of, write_export
    from cachediag.rules.file import read_rules

    exporter, ruleset = exporter_of(to), read_rules(file)
    written = write_export(ruleset, exporter, file, output)
    left = len(ruleset.rules) - len(written.rules)
    lines = [
        f"{count(len(written.rules), 'rule')} in {printable(str(output))}",
        *([f"note   {count(left, 'rule')} not enabled, left out"] if left else []),
        *(
            f"{'       ' if number else 'next   '}{printable(line)}"
            for number, line in enumerate(exporter.install(output.resolve()))
        ),
    ]
    for line in lines:
        err().print(line, soft_wrap=True)
