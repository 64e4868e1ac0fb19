"""`cachediag simulate`: which router keeps how much of the prefix cache of several servers."""

import shlex
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import err, out, say, write
from cachediag.cli.options import (
    Format,
    FormatOption,
    IncomingOption,
    ModelOption,
    ProfileOption,
    as_words,
    asked,
    choice_for,
    source,
)
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cachediag.report.simulate import SimulateReport
    from cachediag.report.sweep import SweepReport
    from cachediag.simulate.comparison import Compared, Fleet, Tell
    from cachediag.simulate.given import Given, Wanted
    from cachediag.simulate.model import Unit
    from cachediag.simulate.sweep import Sweep

__all__ = ["simulate"]


class Call(StrEnum):
    """How requests reach a SageMaker endpoint."""

    native = "native"
    openai = "openai"


def simulate(  # noqa: PLR0917 - a parameter is an option
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...",
            help="Recorded sessions, or a Mooncake trace, or a scenario: a TOML file or the name of"
            " one that comes along; default: the newest recording.",
            show_default=False,
            autocompletion=completing.workloads,
        ),
    ] = None,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="NAME[:k=v]",
            autocompletion=completing.policies,
            help="A routing policy: random, round-robin, sagemaker:PrefixLength=4096, …; may be"
            " given several times. All of them by default.",
            show_default=False,
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="How many servers; 4 by default.", show_default=False),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:k=v]",
            autocompletion=completing.engines,
            help="The cache of each server: vllm, sglang, llama.cpp:slots=4, …; by default blocks,"
            " the least recently used dropped first.",
            show_default=False,
        ),
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="TOKENS",
            help="How much the cache of each server holds; without a limit by default.",
            show_default=False,
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1, help="Requests that a server runs at once; 256 by default.", show_default=False
        ),
    ] = None,
    prefill_rate: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Prompt tokens a second of a server; by default measured from the recording.",
            show_default=False,
        ),
    ] = None,
    decode_rate: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Generated tokens a second of one reply; by default measured from the recording.",
            show_default=False,
        ),
    ] = None,
    batch_rate: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Generated tokens a second of all replies of a server; by default those of 32.",
            show_default=False,
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Let requests come so many times faster than recorded.",
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.000001,
            help="Let so many requests a second come at random times (Poisson), in the order"
            " recorded.",
            show_default=False,
        ),
    ] = None,
    closed: Annotated[
        bool,
        typer.Option(
            "--closed", help="A conversation's next request waits for the end of the one before."
        ),
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, max=100, help="Runs of each policy; 5 by default.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Of the first run; 0 by default.", show_default=False),
    ] = None,
    sweep: Annotated[
        bool,
        typer.Option(
            "--sweep",
            help="Try SageMaker's PrefixLength and ConcurrencyThreshold on recorded sessions, and"
            " recommend a pair.",
        ),
    ] = False,
    call: Annotated[
        Call | None,
        typer.Option(
            help="With --sweep: PrefixLength counts bytes of the body (native), or characters of"
            " the messages' text (openai); by default as the sessions' requests suggest.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw what came of it, as FILE.png or FILE.svg; needs matplotlib.",
            show_default=False,
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the requests as a Mooncake trace, which holds none of their text.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileOption = None,
    model: ModelOption = None,
    incoming: IncomingOption = False,
    format_: FormatOption = Format.text,
) -> None:
    """Play sessions on several servers, under each routing policy.

    Times are an estimate: servers have the rates that are given, measured from the recording, or
    else taken for granted, as the report says.

    \b
    Examples:
      cachediag simulate --replicas 8 --speed 20
      cachediag simulate --sweep --plot sweep.svg
      cachediag simulate trace.jsonl.gz --policy random --policy llm-d
      cachediag simulate sagemaker-chats
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.collecting import collect_seldom
    from cachediag.simulate.given import Wanted

    collect_seldom()
    _check_plot(plot)
    wanted = Wanted(
        replicas=replicas,
        repeats=repeats,
        seed=seed,
        prefill_rate=prefill_rate,
        decode_rate=decode_rate,
        batch_rate=batch_rate,
        concurrency=concurrency,
        capacity=capacity,
        engine=engine,
        speed=speed,
        rate=rate,
        closed=closed,
    )
    given = _given(what or [], wanted, profile, model, incoming=incoming)
    if export is not None:
        _export(given.fleet, export)
    named = shlex.join([*(what or []), *as_words({"--profile": profile, "--model": model})])
    command = f"cachediag simulate {named}".rstrip()
    asked_for = _Asked(command, plot, export, as_json=format_ is Format.json)
    if sweep:
        if policies:
            raise UsageError("--sweep tries sagemaker alone", where="--policy")
        _sweep(given, call, asked_for)
    elif call is not None:
        raise UsageError(
            "it goes with --sweep", where="--call", remedy="Or: --policy sagemaker:call=OpenAI"
        )
    else:
        _compare(given, policies or given.policies, asked_for)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to become of the figures."""

    command: str
    """What the next command begins with."""
    plot: Path | None
    export: Path | None
    as_json: bool


def _check_plot(plot: Path | None) -> None:
    if plot is not None:
        from cachediag.report.plots import check

        check(plot)


def _given(
    what: list[str], wanted: "Wanted", profile: str | None, model: str | None, *, incoming: bool
) -> "Given":
    """What is played, from what the command line names."""
    from cachediag.simulate import given

    kinds = {given.kind_of(each) for each in what} or {"session"}
    if kinds == {"session"}:
        names: Sequence[str | None] = what or [None]
        sources = [source(name, incoming=incoming) for name in names]
        choice = choice_for(sources[0], profile, model)
        with _showing() as tell:
            tell("reading what was recorded", 0, 1)
            return given.sessions(sources, choice, wanted)
    if len(what) > 1:
        raise UsageError(
            "several recorded sessions can be played at once, and nothing else",
            where=" ".join(what),
            remedy="Give one trace or one scenario.",
        )
    for option, value in {"--profile": profile, "--model": model}.items():
        if value is not None:
            raise UsageError(f"{option} is for recorded sessions", where=what[0])
    if kinds == {"trace"}:
        return given.trace(what[0], wanted)
    return given.scenario(what[0], wanted)


def _compare(given: "Given", policies: "Sequence[str]", asked_for: _Asked) -> None:
    from cachediag.report.simulate import SimulateReport
    from cachediag.simulate.comparison import compare

    with _showing() as tell:
        made = compare(given.fleet, policies, tell)
    if asked_for.plot is not None:
        from cachediag.report.plots import plot_policies

        plot_policies(made, asked_for.plot)
    next_ = tuple(_next(given, asked_for))
    _print(made, SimulateReport(made, given.told, next_), given.told, asked_for)


def _next(given: "Given", asked_for: _Asked) -> "Iterator[tuple[str, str]]":
    """Commands to go on with after a comparison, and what each is for."""
    if given.sources:
        yield f"{asked_for.command} --sweep", "SageMaker's two numbers for these sessions"
    if asked_for.plot is None:
        yield f"{asked_for.command} --plot fleet.svg", "the same as a picture"


def _sweep(given: "Given", call: Call | None, asked_for: _Asked) -> None:
    from cachediag.report.sweep import SweepReport
    from cachediag.simulate.sweep import sweep

    if given.counter is None:
        raise UsageError(
            "only recorded requests have heads that can be looked at",
            where="--sweep",
            remedy="Give recorded sessions.",
        )
    call = call or (Call.openai if asked(given.sources[0]) == "chat" else Call.native)
    unit: Unit = "bytes" if call is Call.native else "characters"
    with _showing() as tell:
        made = sweep(given.fleet, given.sources, given.counter, unit, tell)
    if asked_for.plot is not None:
        from cachediag.report.plots import plot_sweep

        plot_sweep(made, asked_for.plot)
    taken = made.recommended.outcome.policy
    command = f"{asked_for.command} --policy random --policy {taken}"
    report = SweepReport(made, given.told, ((command, "the pair in full"),))
    _print(made, report, given.told, asked_for)


def _print(
    made: "Compared | Sweep",
    report: "SimulateReport | SweepReport",
    told: "Sequence[str]",
    asked_for: _Asked,
) -> None:
    from cachediag.report import documents
    from cachediag.report.simulate_documents import simulated

    plot, export = asked_for.plot, asked_for.export
    if plot is not None:
        say(f"drawn in {plot}")
    if asked_for.as_json:
        write(documents.dumps(simulated(made, told=told, plot=plot, export=export)))
    else:
        out().print(report)


def _export(fleet: "Fleet", path: Path) -> None:
    from cachediag.report.style import count
    from cachediag.simulate.workloads import mooncake

    written = mooncake.write(fleet.workload, path, seed=fleet.seed)
    say(f"{count(written, 'request')} in {path}")


@contextmanager
def _showing() -> "Iterator[Tell]":
    """Show how far it is, on a terminal."""
    console = err()
    if not console.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    from cachediag.report.safe import printable

    text = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), text, BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(next_: str, done: int, total: int) -> None:
            # The names of policies may be as long as the terminal is wide.
            bar.update(task, description=printable(next_)[:40], completed=done, total=total)

        yield tell
