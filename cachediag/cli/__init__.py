"""The command line: one module a command, no logic."""

import errno
import os
import shutil
import sys
import textwrap
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
from cachediag.errors import CachediagError, UsageError

__all__ = ["app", "main"]

# Click's, which newer releases of typer bring along in a copy of their own.
_WrongUsage: type[Exception] = typer.BadParameter.__mro__[1]
_MARGIN = " " * len("cachediag: ")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name="cachediag",
    help="""Find out why a coding agent's prompt was prefilled again, and make it stop.

    \b
    Examples:
      cachediag demo                        see what it does, in seconds
      cachediag record -- claude            record your own
      cachediag diff                        what broke the prefix
      cachediag rules new -o rules.toml     the rules that remove it
    """,
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
    for name in ("stdout", "stderr"):
        # None where the shell has closed it (`>&-`).
        stream = getattr(sys, name) or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        setattr(sys, name, stream)
        # A name or a path may hold what the terminal's encoding lacks.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(prog_name="cachediag", standalone_mode=False)
        # What is still buffered may find no room, or no reader.
        sys.stdout.flush()
    except _WrongUsage as error:
        if (told := _told(error)) is not None:
            _complain(told)
        sys.exit(2)
    except CachediagError as error:
        _complain(error)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except BrokenPipeError:
        # The reader had enough, as `head` does; silence the flush at exit too.
        sys.stdout = None
        sys.exit(0)
    except OSError as error:
        if (failed := _of_the_system(error)) is None:
            raise
        # Its flush at exit would fail as well.
        sys.stdout = None
        _complain(failed)
        sys.exit(failed.exit_code)
    if code:
        sys.exit(code)


def _of_the_system(error: OSError) -> CachediagError | None:
    """What no command foresaw: a full disk, a name that is too long, a folder that is closed.

    None where it is about neither a file nor the output.
    """
    if error.errno in _NO_ROOM:
        return CachediagError(
            f"cannot write the output ({error.strerror})",
            remedy="Make room, or send the output elsewhere.",
        )
    if isinstance(error.filename, str):
        return CachediagError(
            f"cannot be used ({error.strerror})",
            where=error.filename,
            remedy="Name another, or see that you may read it.",
        )
    return None


def _told(error: Exception) -> UsageError | None:
    """What click found wrong with a command's words, said as our own errors are.

    None where nothing is wrong: a group was named alone, and its help has been shown.
    """
    assert hasattr(error, "format_message")
    assert hasattr(error, "show")
    said = " ".join(error.format_message().split())
    if said.startswith("Usage: "):
        error.show()
        return None
    # Typer calls a wrong choice a "Value error".
    said = said.replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "cachediag"
    group = command.partition(" ")[2]
    meant = None if group else _in_a_group(sys.argv[1:2])
    return UsageError(
        f"{said[:1].lower()}{said[1:]}",
        where=group or None,
        remedy=f"Did you mean: {meant}" if meant else f"See: {command} --help",
    )


def _in_a_group(words: list[str]) -> str | None:
    """The whole of a command that was named without its group."""
    for group in (rules.app, fix.app):
        if any([command.name] == words for command in group.registered_commands):
            return f"cachediag {group.info.name} {words[0]}"
    return None


def _complain(error: CachediagError) -> None:
    from cachediag.report.safe import printable

    print(_fitted(f"cachediag: {printable(str(error))}"), file=sys.stderr)  # noqa: T201
    if error.remedy:
        print(_fitted(f"{_MARGIN}{printable(error.remedy)}"), file=sys.stderr)  # noqa: T201


def _fitted(line: str) -> str:
    """A line as it is, or for a terminal that is narrower broken between words."""
    width = shutil.get_terminal_size().columns
    if not sys.stderr.isatty() or max(map(len, line.split())) > width - len(_MARGIN):
        return line
    return textwrap.fill(
        line,
        width,
        subsequent_indent=_MARGIN,
        break_long_words=False,
        break_on_hyphens=False,
    )
