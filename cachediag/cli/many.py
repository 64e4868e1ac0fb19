"""The part of `cachediag analyze` that is about many sessions."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cachediag.cli.console import err, out, write
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from cachediag.batch.model import Named, Outcome, Settings

__all__ = ["Several", "meant", "refuse", "report", "settings"]

_FAILED = 2
"""The exit code where a session could not be analysed: what could be is written all the same."""
_TELL_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Several:
    """Sessions that are analysed together."""

    sessions: "tuple[Named, ...]"
    passed_over: int
    output: Path | None
    cluster: str | None


def meant(given: Sequence[str], output: Path | None, cluster: str | None) -> Several | str | None:
    """Tell what the SESSION arguments mean.

    Args:
        given: the arguments.
        output: where rows go.
        cluster: address of a Dask scheduler.

    Returns:
        One session, to be reported request by request, as `options.source` takes it; else several.

    Raises:
        CachediagError: one of them means nothing.
    """
    alone = output is None and cluster is None
    if alone and not given:
        return None
    if alone and list(given) == ["-"]:
        return "-"
    from cachediag.batch.naming import find
    from cachediag.session import library

    found = find(given or [str(library.newest())])
    if alone and len(found.sessions) == 1 and not found.sessions[0].is_remote:
        return found.sessions[0].label
    return Several(found.sessions, found.passed_over, output, cluster)


def refuse(options: Mapping[str, bool], format_: str) -> None:
    """Refuse options that look at the requests of one session.

    Args:
        options: whether each was given.
        format_: how to print.

    Raises:
        UsageError: one was given.
    """
    for option in [name for name, is_given in options.items() if is_given]:
        raise UsageError(
            "is for one session, and several are meant", where=option, remedy="Name one session."
        )
    if format_ not in ("text", "json"):
        raise UsageError(
            "a row a request of several sessions goes into Parquet",
            where=f"--format {format_}",
            remedy="Write them: -o FILE.parquet",
        )


def settings(
    profile: str | None,
    model: str | None,
    tokenizer: str | None,
    engine: str | None,
    *,
    incoming: bool,
    prefill_rate: float | None,
) -> "Settings":
    """The options by which each session is analysed.

    Raises:
        UsageError: one names something that there is not.
        InputError: a tokenizer's file cannot be read.
    """
    from cachediag.analysis.choice import choose
    from cachediag.batch.model import Settings

    # Said once, before the work begins, and not of every session.
    choose(
        "messages",
        profile_spec=profile,
        model_spec=model,
        tokenizer_spec=tokenizer,
        engine_spec=engine,
    )
    return Settings(
        profile=profile,
        model=model,
        tokenizer=tokenizer,
        engine=engine,
        incoming=incoming,
        prefill_rate=prefill_rate,
    )


def report(
    several: Several, by: "Settings", workers: int | None, options: str, *, as_json: bool
) -> None:
    """Analyse several sessions; print the summary, write the rows.

    Args:
        several: the sessions.
        by: how each is analysed.
        workers: processes; None for one a core.
        options: what picks backend and tokenizer in the next command.
        as_json: print a document, not a report.

    Raises:
        CachediagError: the rows cannot be written, or what is needed is missing.
        typer.Exit: a session could not be analysed.
    """
    from dataclasses import replace

    from cachediag.batch.run import analyse_all
    from cachediag.batch.summary import Tally
    from cachediag.batch.writing import RowFile
    from cachediag.report import documents
    from cachediag.report.batch import BatchReport
    from cachediag.report.batch_documents import batch
    from cachediag.report.style import count

    if several.passed_over:
        err().print(f"note: {count(several.passed_over, 'file')} in folders passed over")
    tally = Tally()
    by = replace(by, with_rows=several.output is not None)
    with (
        _ended_well(),
        RowFile(several.output) if several.output else nullcontext() as rows,
        _progress(len(several.sessions)) as told,
    ):
        for outcome in analyse_all(
            several.sessions,
            by,
            workers=_workers(workers, several.cluster),
            cluster=several.cluster,
            told=told,
        ):
            tally.add(outcome)
            if rows is not None:
                rows.add(outcome)
    made, written = tally.summary(), str(several.output or "")
    if as_json:
        write(documents.dumps(batch(made, written or None)))
    else:
        out().print(BatchReport(made, written, options))
    if made.failed:
        raise typer.Exit(_FAILED)


def _workers(given: int | None, cluster: str | None) -> int:
    from cachediag.batch.run import default_workers
    from cachediag.extras import has, install

    if given is not None or cluster is not None:
        return given or 1
    if not has("distributed"):
        err().print(f"note: with one process, for Dask is not installed: {install('fleet')}")
    return default_workers()


@contextmanager
def _ended_well() -> Iterator[None]:
    """Let what is temporary be removed when the process is asked to end, as by Ctrl-C."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress(total: int) -> "Iterator[Callable[[Outcome], None]]":
    """Tell on stderr how far it is: a bar on a terminal, elsewhere a line now and then."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from cachediag.batch.model import Failed

    console = err()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    done = failed = 0
    spoken = time.monotonic()
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("analysing", total=total)

        def told(outcome: "Outcome") -> None:
            nonlocal done, failed, spoken
            done += 1
            failed += isinstance(outcome, Failed)
            said = f"analysing, {failed} failed" if failed else "analysing"
            bar.update(task, completed=done, description=said)
            if not console.is_terminal and time.monotonic() - spoken >= _TELL_SECONDS:
                spoken = time.monotonic()
                console.print(f"{done:,} of {total:,} sessions analysed, {failed:,} failed")

        yield told
