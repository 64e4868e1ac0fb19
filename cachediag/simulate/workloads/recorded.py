"""Recorded sessions as a workload."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from cachediag.analysis.choice import Choice
from cachediag.errors import InputError
from cachediag.session.source import Source
from cachediag.simulate.model import Request, Scale, Workload
from cachediag.simulate.workloads.amounts import check_least
from cachediag.simulate.workloads.arrivals import Arrivals
from cachediag.simulate.workloads.turns import Turn, Turns

__all__ = ["workload"]

_REPLY = 256
"""Tokens of a reply, where none was recorded at all."""


def workload(
    sources: Source | Sequence[Source],
    choice: Choice,
    *,
    block: int = 16,
    arrivals: Arrivals | None = None,
    closed: bool = False,
) -> Workload:
    """The requests of recorded sessions, all of which begin at once.

    Args:
        sources: a session, or some.
        choice: what their tokens are counted by, be it an estimate; its cache model is not used.
        block: tokens of a block.
        arrivals: when requests come; None for the times recorded.
        closed: a lane's request is sent when the one before it has ended and the pause that was
            recorded is over; only the first of each lane arrives at a given time.

    Raises:
        InputError: no request was recorded that a server took, or a session has no times.
        UsageError: a block has no tokens.
    """
    check_least(1, block=block)
    given = list(sources) if isinstance(sources, Sequence) else [sources]
    when, turns = arrivals or Arrivals(), Turns(choice, block)
    requests: list[Request] = []
    for number, source in enumerate(given, 1):
        found = list(turns.of(source, f"{number}:{source.name}/" if len(given) > 1 else ""))
        if when.rate is None and any(turn.info.started is None for turn in found):
            raise InputError(
                "its requests have no times",
                where=source.name,
                remedy="Let them come at a rate: --rate REQUESTS_A_SECOND",
            )
        requests += _placed(found)
    name = given[0].name if len(given) == 1 else f"{len(given)} sessions"
    if not requests:
        raise InputError("no request was recorded that a server took", where=name)
    known = [request.output_tokens for request in requests if request.output_tokens]
    reply = round(median(known)) if known else _REPLY
    assumed = (
        *_assumed(turns, when, closed=closed, sessions=len(given)),
        *_replies(len(requests), len(known), reply),
    )
    made = tuple(
        replace(request, output_tokens=request.output_tokens or reply)
        for request in sorted(requests, key=lambda request: request.arrival)
    )
    timed = _closed if closed else _open
    scale = Scale(block, turns.characters / max(1, turns.tokens))
    return Workload(name, scale, lambda seed: timed(made, when, seed), assumed, turns.exact)


def _placed(turns: Sequence[Turn]) -> Sequence[Request]:
    """A session's requests at their times from its start, each with the pause behind it."""
    times = [turn.info.started for turn in turns if turn.info.started is not None]
    if len(times) < len(turns):
        # The order alone is known.
        times = [float(number) for number in range(len(turns))]
    start = min(times, default=0.0)
    # Those that overlap may have been recorded in the order of their ends.
    rows = sorted(zip(times, turns, strict=True), key=lambda row: row[0])
    following: dict[str, Turn] = {}
    placed: list[Request] = []
    for time, turn in reversed(rows):
        lane = turn.request.session
        pause = _pause(turn, following[lane]) if lane in following else 0.0
        following[lane] = turn
        placed.append(replace(turn.request, arrival=time - start, pause=pause))
    return placed[::-1]


def _pause(one: Turn, other: Turn) -> float:
    """Seconds from the end of a request to the start of the next; 0 where they overlap."""
    ended, started = one.info.ended, other.info.started
    return 0.0 if ended is None or started is None else max(0.0, started - ended)


def _open(requests: Sequence[Request], arrivals: Arrivals, seed: int) -> Iterator[Request]:
    """All requests at their times, whether or not those before them have ended."""
    clock = arrivals.clock(seed)
    for request in requests:
        yield replace(request, arrival=clock(request.arrival), pause=0.0)


def _closed(requests: Sequence[Request], arrivals: Arrivals, seed: int) -> Iterator[Request]:
    """The first request of each lane at its time; each makes the next of its lane."""
    clock = arrivals.clock(seed)
    lanes: dict[str, list[Request]] = {}
    for request in requests:
        lanes.setdefault(request.session, []).append(request)
    for lane in lanes.values():
        following: Request | None = None
        for request in reversed(lane):
            following = _before(request, following, arrivals.speed)
        if following is not None:
            yield replace(following, arrival=clock(following.arrival))


def _before(request: Request, following: Request | None, speed: float) -> Request:
    if following is None:
        return replace(request, pause=0.0)
    made = following
    return replace(request, pause=request.pause / speed, then=lambda: made)


def _assumed(turns: Turns, when: Arrivals, *, closed: bool, sessions: int) -> Iterator[str]:
    if sessions > 1:
        yield "all sessions begin at once"
    if closed:
        yield f"the first request of each lane arrives {_times(when, 'its time')}"
        pause = "its pause" if when.speed == 1 else f"its pause, divided by {when.speed:g}"
        yield f"a request is sent when the one before it in its lane has ended, after {pause}"
    else:
        times = _times(when, "their times")
        yield f"requests arrive {times}, whether or not those before them have ended"
    if not turns.exact:
        yield "tokens are an estimate"
    if turns.left_out:
        yield f"{turns.left_out:,} requests are left out: refused by the server, or not to be read"


def _times(when: Arrivals, recorded: str) -> str:
    if when.rate is not None:
        return f"at random, {when.rate:g} a second, in the order recorded"
    return f"at {recorded}" if when.speed == 1 else f"at {recorded}, divided by {when.speed:g}"


def _replies(requests: int, known: int, reply: int) -> Iterator[str]:
    if known < requests:
        yield (
            f"{requests - known:,} of {requests:,} requests have no recorded reply, and are taken "
            f"to generate {reply:,} tokens"
        )
