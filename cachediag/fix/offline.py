"""Rules applied to a session that is there: what live stripping would have sent on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cachediag.errors import CachediagError, UsageError
from cachediag.fix.tally import Tally
from cachediag.model import Exchange
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.protocols import protocol_of
from cachediag.rules.rule import Rule
from cachediag.session import Session, Source

__all__ = ["applied", "write"]


def applied(
    source: Source, rules: Sequence[Rule], tally: Tally, tell: Callable[[str], None]
) -> Iterator[Exchange]:
    """Yield a session's exchanges with the bodies of their requests as the rules make them.

    The rules are applied to what the client sent, in the order of the session. A body that went on
    changed when it was recorded is left out: the rules given now take the place of those.

    Args:
        source: the session; it is not changed.
        rules: the rules to apply.
        tally: counts what they change.
        tell: told, a line each, of a request that stays as it was because it cannot be read.

    Raises:
        CachediagError: the session is damaged.
    """
    pins = Pins()
    for exchange in source.exchanges():
        protocol = protocol_of(exchange.info.endpoint, exchange.info.path)
        body = exchange.request
        if protocol is not None and body:
            try:
                made = apply_rules(body, protocol, rules, pins)
            except (CachediagError, ValueError) as error:
                tell(f"request {exchange.info.index} stays as it was: {error}")
            else:
                tally.add(made)
                body = made.body
        yield replace(exchange, request=body, outgoing=None)


def write(path: Path, exchanges: Iterator[Exchange], meta: Mapping[str, str]) -> None:
    """Write exchanges to a new session.

    Args:
        path: a file that is not there yet; it is taken away again if this fails.
        exchanges: read one at a time.
        meta: what is known of the session as a whole.

    Raises:
        CachediagError: the file is there, or cannot be written, or the exchanges cannot be read.
    """
    if path.exists():
        raise UsageError("exists already", where=str(path), remedy="Give a new file: -o FILE")
    try:
        with Session.create(path, meta=meta) as session:
            for exchange in exchanges:
                session.append(exchange)
    except BaseException:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        raise
