"""The command line: one module a command, no logic."""

import sys
from typing import Annotated

import typer

from cachediag import __version__
from cachediag.cli import (
    analyze,
    demo,
    diff,
    doctor,
    explain,
    fix,
    import_,
    lint,
    record,
    rules,
    sessions,
    show,
    simulate,
    verify,
)
from cachediag.errors import CachediagError

__all__ = ["app", "main"]

app = typer.Typer(
    name="cachediag",
    help="Find out why a coding agent's prompt was prefilled again, and make it stop.",
    epilog="Start with: cachediag record -- claude",
    no_args_is_help=True,
    add_completion=True,
    # Rich help triples the start-up time.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show_it: bool) -> None:
    if show_it:
        typer.echo(f"cachediag {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


app.command("record", context_settings=record.CONTEXT_SETTINGS)(record.record)
app.command("import")(import_.import_)
app.command("sessions")(sessions.sessions)
app.command("show")(show.show)
app.command("diff")(diff.diff)
app.command("analyze")(analyze.analyze)
app.add_typer(rules.app)
app.add_typer(fix.app)
app.command("simulate")(simulate.simulate)
app.command("verify")(verify.verify)
app.command("lint")(lint.lint)
app.command("demo")(demo.demo)
app.command("explain")(explain.explain)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run the command line; turn errors into one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name or a path may hold what the terminal's encoding lacks.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except CachediagError as error:
        _complain(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader had enough, as `head` does; silence the flush at exit too.
        sys.stdout = None
        sys.exit(0)


def _complain(error: CachediagError) -> None:
    from cachediag.report.safe import printable

    print(f"cachediag: {printable(str(error))}", file=sys.stderr)  # noqa: T201
    if error.remedy:
        print(f"           {printable(error.remedy)}", file=sys.stderr)  # noqa: T201
