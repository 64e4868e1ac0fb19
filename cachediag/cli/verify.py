"""`cachediag verify`: a session replayed against a live backend."""

import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import err, out, say, write
from cachediag.cli.options import (
    Format,
    FormatOption,
    HeaderOption,
    ModelOption,
    ProfileOption,
    SessionArgument,
    asked,
    headers,
    source,
)
from cachediag.cli.stripping import live_words
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cachediag.session.source import Source
    from cachediag.verify.experiment import Experiment, Progress
    from cachediag.verify.plan import Plan
    from cachediag.verify.setup import Setup
    from cachediag.verify.verdict import Verdict

__all__ = ["end", "showing", "verify"]


def verify(  # noqa: PLR0917 - a parameter is an option
    session: SessionArgument = None,
    backend: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A server that runs.", show_default=False),
    ] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(
            metavar="[ENGINE@]RELEASE",
            help="A release of vllm-mlx or mlx-lm with a tiny model, installed once: 0.3.0,"
            " mlx-lm@0.31.3.",
            show_default=False,
        ),
    ] = None,
    serve_cmd: Annotated[
        str | None,
        typer.Option(
            metavar="CMD",
            help="A command that starts a server at {port} of 127.0.0.1; it is started and stopped"
            " as needed, and without and with the patch where it runs a vllm-mlx.",
            show_default=False,
        ),
    ] = None,
    python: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The interpreter that --serve-cmd runs, where its first word does not tell.",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Send the session with these rules applied, too.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileOption = None,
    model: ModelOption = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:k=v]",
            help="The cache that is predicted by; by default the profile's.",
            autocompletion=completing.engines,
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, max=100, help="How often each arm is run; 3 by default.")
    ] = 3,
    max_requests: Annotated[
        int | None,
        typer.Option(min=1, help="Send the first so many requests.", show_default=False),
    ] = None,
    lane: Annotated[str | None, typer.Option(help="Send the requests of one lane only.")] = None,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="How many tokens each reply may have; 1 by default.")
    ] = 1,
    request_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model that requests ask for; by default the one that the server lists, or the"
            " recorded one.",
            show_default=False,
        ),
    ] = None,
    backend_log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The server's log on this machine, where that alone tells what was reused.",
            show_default=False,
        ),
    ] = None,
    header: HeaderOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Send even where it costs money.")] = False,
    format_: FormatOption = Format.text,
) -> None:
    """Replay a session on a live backend, and say what fixes gain.

    The requests are sent as they were recorded; with --rules, also with the rules applied; and each
    of these again with the patch, where it can be put into the backend. The arms are run several
    times in turn, and replies are cut off after a token. Ends with 1 where less was reused than was
    predicted, with 3 where the backend failed.

    \b
    Examples:
      cachediag verify --backend http://127.0.0.1:8000 --rules rules.toml
      cachediag verify demo --sandbox 0.3.0 --max-requests 6
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.report import documents
    from cachediag.report.verify import VerifyReport
    from cachediag.report.verify_documents import verified
    from cachediag.rules.file import read_rules
    from cachediag.verify.experiment import Replay, run
    from cachediag.verify.plan import plan
    from cachediag.verify.setup import Wanted, setup
    from cachediag.verify.verdict import verdict

    opened = source(session, incoming=True)
    sent = headers(header or ())
    ruleset = read_rules(rules) if rules else None
    wanted = Wanted(
        backend=backend,
        sandbox=sandbox,
        serve_cmd=serve_cmd,
        python=python,
        log=backend_log,
        profile=profile,
        model=model,
        engine=engine,
        request_model=request_model,
    )
    ready = setup(wanted, opened, asked(opened), ruleset, _step)
    applied = ruleset.enabled if ruleset else ()
    planned = plan(opened, applied, ready.choices[False], say, lane=lane, most=max_requests)
    _check_reach(ready, planned, repeats, yes=yes)
    replay = Replay(arms=ready.arms, repeats=repeats, max_tokens=max_tokens, headers=sent)
    with showing() as tell:
        experiment = run(planned, ready.place, ready.choices, replay, tell)
    if not experiment.measured and experiment.failure is not None:
        raise experiment.failure
    made = verdict(experiment)
    if format_ is Format.json:
        file = None if rules is None else str(rules)
        document = verified(made, experiment, ready, session=opened.name, rules=file)
        write(documents.dumps(document))
    else:
        shown: dict[str, str] = {}
        if experiment.failure is None:
            shown = _next(made, opened, shlex.quote(session) if session else "", backend, rules)
        out().print(VerifyReport(made, experiment, ready.place.name, shown))
    end(experiment, made)


def _next(
    made: "Verdict", opened: "Source", given: str, backend: str | None, rules: Path | None
) -> dict[str, str]:
    """The commands to go on with, and what each is for."""
    from cachediag.capture.redact import safe_url

    of_session = f" {given}" if given else ""
    server = safe_url(backend) if backend else None
    if not made.kept:
        asked_of = f" --backend {shlex.quote(server)}" if server else ""
        return {f"cachediag fix status{of_session}{asked_of}": "what is in place, and what is not"}
    if rules is None:
        return {f"cachediag rules new{of_session} -o rules.toml": "rules, to be sent with --rules"}
    file, effects = shlex.quote(str(rules)), made.effects
    shown = {}
    if any(each and not each.is_noise for each in (effects.rules, effects.both)):
        words = live_words(opened, server)
        shown[f"cachediag fix strip --rules {file} {words}"] = "apply them as you work"
        if effects.both and not effects.both.is_noise:
            shown["cachediag fix patch --dry-run"] = "what the patch changes in your vllm-mlx"
    else:
        shown[f"cachediag rules check{of_session} {file}"] = "what they do to each prompt"
    return shown


def end(experiment: "Experiment", made: "Verdict") -> None:
    """End the command as the replay went, once what was measured has been told."""
    if experiment.failure is not None:
        raise experiment.failure
    if experiment.interrupted:
        raise typer.Exit(130)
    if not made.kept:
        raise typer.Exit(1)


def _step(text: str) -> None:
    # Told every second; the bar shows that something goes on.
    if not text.startswith("waiting"):
        say(text)


def _check_reach(ready: "Setup", planned: "Plan", repeats: int, *, yes: bool) -> None:
    from cachediag.report.style import count
    from cachediag.verify.reach import reach

    url = ready.place.base_url
    whom = "near" if url is None else reach(url)
    if url is None or whom == "near":
        return
    requests = count(sum(len(planned.requests(arm)) for arm in ready.arms) * repeats, "request")
    if whom == "far":
        say(f"WARNING: {requests} with what was recorded go to {url}, outside your network.")
        return
    bill = planned.price(ready.arms, repeats)
    costs = "at a price that is not known"
    if bill.usd is not None:
        costs = f"for about ${bill.usd:,.2f} (prices of {bill.as_of})"
    if not yes:
        raise UsageError(
            f"{requests} would go to a paid API {costs}",
            where=url,
            remedy="To send them: --yes. To send fewer: --max-requests, --repeats, --lane",
        )
    say(f"WARNING: {requests} with what was recorded go to {url} {costs}.")


@contextmanager
def showing() -> "Iterator[Callable[[Progress], None]]":
    """Show how far it is: a bar on a terminal, a line a run elsewhere."""
    console = err()
    if not console.is_terminal:
        yield _lines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    described = TextColumn("{task.description}")
    columns = (SpinnerColumn(), described, BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting the backend", total=None)

        def tell(progress: "Progress") -> None:
            bar.update(
                task,
                description=_where(progress),
                completed=progress.done,
                total=progress.total,
            )

        yield tell


def _lines() -> "Callable[[Progress], None]":
    seen: set[tuple[str, int]] = set()

    def tell(progress: "Progress") -> None:
        if (progress.arm, progress.repeat) not in seen:
            seen.add((progress.arm, progress.repeat))
            say(f"{_where(progress)}, {progress.done} of {progress.total} requests done")

    return tell


def _where(progress: "Progress") -> str:
    left = progress.seconds_left
    name = progress.arm.replace("-", " ")
    about = "" if left is None else f", about {_duration(left)} left"
    return f"{name}, round {progress.repeat + 1}{about}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
