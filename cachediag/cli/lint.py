"""`cachediag lint`: what the tools and response formats of a session ask of a decoder."""

import shlex
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from cachediag.cli.console import out, write
from cachediag.cli.options import (
    Format,
    FormatOption,
    HeaderOption,
    IncomingOption,
    ModelOption,
    ProfileOption,
    SessionArgument,
    counting_for,
    headers,
    source,
)
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from cachediag.analysis.tokenview import Counter

__all__ = ["lint"]

_T = TypeVar("_T")


class DecoderName(StrEnum):
    """A library that constrains what a model writes."""

    xgrammar = "xgrammar"
    llguidance = "llguidance"
    lm_format_enforcer = "lm-format-enforcer"
    outlines = "outlines"


class Emitted(StrEnum):
    """What can be written for a request."""

    structural_tag = "structural-tag"


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
    costs: Annotated[
        bool,
        typer.Option(
            "--costs", help="Measure what the schemas take to compile, with cachediag[grammar]."
        ),
    ] = False,
    emit: Annotated[
        Emitted | None,
        typer.Option(help="Write this for the tools of --request.", show_default=False),
    ] = None,
    request: Annotated[
        int | None, typer.Option(metavar="N", help="For --emit: the request's number.", min=0)
    ] = None,
    profile: ProfileOption = None,
    model: ModelOption = None,
    syntax: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How the model writes tool calls: hermes, qwen3_coder, llama3_json, deepseek_v3,"
            " deepseek_v31; by default as its chat template or its name says.",
            show_default=False,
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Send --backend a short request for each schema, one by one."),
    ] = False,
    backend: Annotated[
        str | None,
        typer.Option(metavar="URL", help="For --live: a server that runs.", show_default=False),
    ] = None,
    request_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For --live: the model to ask for; by default the one that the server lists, or"
            " the recorded one.",
            show_default=False,
        ),
    ] = None,
    header: HeaderOption = None,
    incoming: IncomingOption = False,
    format_: FormatOption = Format.text,
) -> None:
    """Say what tools and response schemas cost a decoder.

    What decoders ignore or refuse, and what changes from request to request.
    Ends with 1 where something was found that costs tokens, time or a failed request.

    \b
    Examples:
      cachediag lint --decoder xgrammar     the newest recording, for one decoder
      cachediag lint --costs --model qwen3
      cachediag lint --emit structural-tag --request 3 --model qwen3
      cachediag lint --live --backend http://127.0.0.1:8000
    """  # noqa: D301 - the backspace keeps the lines below as they are
    _check_one(costs=costs, emit=emit is not None, live=live)
    opened = source(session, incoming=incoming)

    def counter() -> "Counter":
        return counting_for(opened, profile, model).counter

    if costs or emit or live:
        from cachediag.cli import lint_engines

        written = lint_engines.Written(model, syntax)
        if costs:
            lint_engines.costs(opened, written, counter, format_)
        elif emit:
            lint_engines.emit(opened, _needed(request, "--request N"), written)
        else:
            lint_engines.probe(
                opened,
                _needed(backend, "--backend URL"),
                request_model=request_model,
                headers=headers(header or ()),
                format_=format_,
            )
        return
    from cachediag.lint.linted import lint as judge
    from cachediag.report import documents
    from cachediag.report.lint import LintReport
    from cachediag.report.lint_documents import linted

    made = judge(
        opened,
        tuple(each.value for each in decoder or ()),
        counter=counter,
        model=model,
    )
    if format_ is Format.json:
        write(documents.dumps(linted(made, session=opened.name)))
    else:
        out().print(LintReport(made, opened.name, shlex.quote(session) if session else ""))
    if made.costly:
        raise typer.Exit(1)


def _check_one(**chosen: bool) -> None:
    named = [f"--{name}" for name, given in chosen.items() if given]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are done one at a time")


def _needed(value: _T | None, option: str) -> _T:
    if value is None:
        raise UsageError(f"{option} is missing", remedy=f"Add {option}.")
    return value
