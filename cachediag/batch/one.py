"""One session → its counts and its rows: what a worker does."""

import traceback
from contextlib import ExitStack
from pathlib import Path

from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.summary import Analysis
from cachediag.backends.choosing import choice_for
from cachediag.batch import rows
from cachediag.batch.model import Counted, Failed, Named, Outcome, Settings
from cachediag.batch.stores import at_hand
from cachediag.capture.importers import open_source
from cachediag.errors import CachediagError
from cachediag.session import Outgoing, Session, Source

__all__ = ["analyse_one"]


def analyse_one(named: Named, settings: Settings, scratch: Path | None = None) -> Outcome:
    """Analyse one session; whatever goes wrong is said in the outcome.

    Args:
        named: the session.
        settings: how to analyse it.
        scratch: where a session of a store is fetched to.
    """
    try:
        with at_hand(named, scratch) as path:
            try:
                return _counted(named.label, path, settings)
            except CachediagError as error:
                return Failed(named.label, _placed(error, path), error.remedy)
    except CachediagError as error:
        return Failed(named.label, error.message, error.remedy)
    except Exception as error:  # noqa: BLE001 - one session must not end the run of the others
        return Failed(named.label, f"a mistake in cachediag: {_where(error)}", "Please report it")


def _counted(label: str, path: Path, settings: Settings) -> Counted:
    with ExitStack() as stack:
        opened = open_source(path)
        if isinstance(opened, Session):
            stack.enter_context(opened)
        source: Source = opened if settings.incoming else Outgoing(opened)
        choice = choice_for(
            source,
            settings.profile,
            settings.model,
            engine=settings.engine,
            tokenizer=settings.tokenizer,
        )
        found = analyse(source.exchanges(), source.exchange, choice)
        made = summarise(found, choice, settings.prefill_rate)
        size = sum(info.request_size for info in source.infos())
        return _outcome(label, made, size, tuple(source.notes), with_rows=settings.with_rows)


def _outcome(
    label: str, made: Analysis, size: int, notes: tuple[str, ...], *, with_rows: bool
) -> Counted:
    rate = made.prefill_rate
    return Counted(
        label=label,
        profile=made.profile,
        model=made.model,
        engine=made.engine,
        requests=len(made.requests),
        uncounted=sum(each.problem is not None for each in made.requests),
        body_bytes=size,
        prompt_tokens=made.prompt_tokens,
        reused_tokens=made.reused_tokens,
        avoidable_tokens=made.avoidable_tokens,
        exact=made.exact,
        avoidable_seconds=made.avoidable_tokens / rate if rate else None,
        usd=made.usd,
        avoidable_usd=made.avoidable_usd,
        priced_requests=len(made.costs),
        prices_as_of=made.prices_as_of,
        causes=made.causes,
        notes=notes,
        rows=rows.table(label, made) if with_rows else None,
    )


def _placed(error: CachediagError, path: Path) -> str:
    """What is wrong, with the file in a folder; the session itself is named beside it."""
    if error.where is None:
        return error.message
    file = Path(error.where)
    if file == path or not file.is_relative_to(path):
        return error.message
    return f"{file.relative_to(path)}: {error.message}"


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"
