"""`cachediag analyze`: a session in tokens."""

import csv
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli import completing, many
from cachediag.cli.console import err, in_one_line, out, write
from cachediag.cli.options import (
    IncomingOption,
    ModelOption,
    ProfileOption,
    as_words,
    choice_for,
    recorded,
    source,
)
from cachediag.collecting import collect_seldom

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cachediag.analysis.analyze import Analysed
    from cachediag.analysis.choice import Choice
    from cachediag.analysis.whatif import Arm
    from cachediag.model import Exchange
    from cachediag.session.source import Source

__all__ = ["analyze"]


class Rows(StrEnum):
    """How an analysis is printed."""

    text = "text"
    json = "json"
    csv = "csv"
    jsonl = "jsonl"


def analyze(  # noqa: PLR0917 - a parameter is an option
    sessions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION]...",
            help="Recorded sessions' names, readable files, folders of them, quoted globs, or "
            "addresses in object stores; default: the newest recording.",
            show_default=False,
            autocompletion=completing.sessions,
        ),
    ] = None,
    profile: ProfileOption = None,
    model: ModelOption = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="A tokenizer other than the model's own.",
            autocompletion=completing.tokenizers,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:k=v]",
            autocompletion=completing.engines,
            help="The cache that is played: none, vllm-mlx@0.6.0, mlx-lm, llama.cpp:slots=1, "
            "vllm, sglang, anthropic, …; by default the profile's own.",
        ),
    ] = None,
    lane: Annotated[str | None, typer.Option(help="Show the requests of one lane only.")] = None,
    prefill_rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="Tokens a second; by default measured from the recording."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow a recording while it goes on, until Ctrl-C.")
    ] = False,
    incoming: IncomingOption = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.parquet|DIR",
            help="Write a row a request, as one Parquet file or as a folder of parts.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes that analyse many sessions; by default one a core, 1 is this one.",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Have the workers of a Dask cluster analyse them, by its scheduler's address.",
        ),
    ] = None,
    format_: Annotated[
        Rows, typer.Option("--format", help="For people, one JSON document, or a row a request.")
    ] = Rows.text,
) -> None:
    """Say in tokens what a cache reuses, and what each cause costs.

    \b
    Examples:
      cachediag analyze --profile vllm-mlx@0.3.0 --model qwen3
      cachediag analyze --profile mlx-lm --model ~/models/Qwen3-8B --format json
      cachediag analyze recordings/ 's3://agents/*.cachediag' -o rows.parquet

    Several sessions are told as a whole: the sums, the causes ranked over all, the costliest. One
    that cannot be read does not end the run; then the exit code is 2.
    """  # noqa: D301 - the backspace keeps the lines below as they are
    session = many.meant(sessions or [], output, dask)
    if isinstance(session, many.Several):
        many.refuse({"--watch": watch, "--lane": lane is not None}, format_)
        settings = many.settings(
            profile, model, tokenizer, engine, incoming=incoming, prefill_rate=prefill_rate
        )
        options = shlex.join(as_words({"--profile": profile, "--model": model}))
        many.report(session, settings, workers, options, as_json=format_ is Rows.json)
        return
    from cachediag.analysis.analyze import analyse, summarise
    from cachediag.analysis.whatif import what_if
    from cachediag.report import documents
    from cachediag.report.analysis import AnalysisReport

    collect_seldom()
    opened = source(session, incoming=incoming)
    known = recorded(opened, profile)
    choice = choice_for(opened, profile, model, engine=engine, tokenizer=tokenizer)
    if watch:
        _watch(opened, choice, lane, format_)
        return
    found = analyse(_shown(opened), opened.exchange, choice)
    analysis = summarise(found, choice, prefill_rate, lane)
    if format_ is Rows.json:
        write(documents.dumps(documents.analysis(analysis)))
    elif format_ is Rows.text:
        arms: tuple[Arm, ...] = ()
        if lane is None:
            arms = what_if(opened.exchanges(), opened.exchange, analysis, choice)
        given = shlex.quote(session) if session else ""
        named = as_words({"--profile": profile, "--model": model})
        options = shlex.join([*named, *(["--incoming"] if incoming else [])])
        backend = known.name if known else ""
        out().print(AnalysisReport(analysis, opened.name, arms, given, options, backend))
    else:
        _rows(analysis.requests, format_)


def _shown(opened: "Source") -> "Iterator[Exchange]":
    """The exchanges, with a progress bar on a terminal."""
    from rich.progress import track

    total = sum(1 for _ in opened.infos())
    console = err()
    yield from track(
        opened.exchanges(),
        description="counting",
        total=total,
        console=console,
        transient=True,
        disable=not console.is_terminal or total < 50,
    )


def _watch(opened: "Source", choice: "Choice", lane: str | None, format_: Rows) -> None:
    from cachediag.analysis.analyze import analyse
    from cachediag.analysis.calibration import calibrated
    from cachediag.errors import UsageError
    from cachediag.report.analysis import request_row, rows_head
    from cachediag.session import Outgoing, Session, sent_on

    if format_ is not Rows.text:
        raise UsageError(
            "a session that is followed has no end to print a document at",
            where="--watch",
            remedy=f"Leave --watch or --format {format_} out.",
        )
    session = opened.source if isinstance(opened, Outgoing) else opened
    if not isinstance(session, Session):
        raise UsageError(
            "only a session file can be followed", remedy="Give a session that is being recorded."
        )
    console = out()
    console.print(in_one_line(rows_head(console)))
    followed = session.follow(stop=lambda: False)
    if isinstance(opened, Outgoing):
        followed = map(sent_on, followed)
    found = analyse(followed, opened.exchange, choice)
    for each in calibrated(found, choice.counter.encoder.tokenizer):
        if lane is None or each.lane == lane:
            console.print(in_one_line(request_row(each, console)))


def _rows(found: "Iterable[Analysed]", format_: Rows) -> None:
    import json

    from cachediag.report import documents

    rows = [documents.analysis_row(each) for each in found]
    if format_ is Rows.jsonl:
        write("".join(f"{json.dumps(row)}\n" for row in rows))
        return
    writer = csv.DictWriter(sys.stdout, documents.ROW)
    writer.writeheader()
    writer.writerows(rows)
