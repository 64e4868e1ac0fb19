"""The experiment: a session sent again and again, in each arm, to servers with empty caches."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from cachediag.analysis.choice import Choice
from cachediag.backends import recognise
from cachediag.errors import CachediagError
from cachediag.model import Exchange, ExchangeInfo
from cachediag.protocol.endpoint import PATHS
from cachediag.verify.arms import Arm
from cachediag.verify.backends import Live, Place
from cachediag.verify.bodies import replayed, salted
from cachediag.verify.clearing import cleared
from cachediag.verify.measured import Measured
from cachediag.verify.plan import Plan, Planned, timeless
from cachediag.verify.predict import Prediction
from cachediag.verify.reading import Reader
from cachediag.verify.send import Answer, send

__all__ = ["Experiment", "Progress", "Replay", "order", "run"]

# Sent on with the request: they say what protocol it is in, and are no credentials.
_KEPT_HEADERS = ("anthropic-version", "anthropic-beta", "openai-beta")
# What a request costs beside its prefill, in tokens of prefill.
_FIXED = 200


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the experiment is."""

    arm: str
    repeat: int
    done: int
    """Requests that were answered."""
    total: int
    seconds_left: float | None
    """None until something was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What is sent, and how."""

    arms: tuple[Arm, ...]
    repeats: int = 3
    max_tokens: int = 1
    headers: Mapping[str, str]
    """Further headers, such as a credential."""
    timeout: float = 900.0
    """Seconds without a byte."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What was measured."""

    arms: tuple[Arm, ...]
    """Those that were begun, in the order in which they are reported."""
    measured: tuple[Measured, ...]
    warm_ups: tuple[float, ...]
    """Seconds of the requests that each server was sent first, which count for nothing."""
    emptied: str
    """How caches were emptied between runs: `cleared`, `restarted` or `salted`."""
    repeats: int
    """How many there were to be."""
    failure: CachediagError | None = None
    """What ended it early."""
    interrupted: bool = False
    """The user ended it early."""


def order(arms: Sequence[Arm], repeats: int) -> Iterator[tuple[int, Arm]]:
    """Every arm once a round, each round beginning with another, so that no arm is always first.

    Yields:
        The round's number, from 0, and the arm.
    """
    for repeat in range(repeats):
        first = repeat % len(arms)
        for arm in (*arms[first:], *arms[:first]):
            yield repeat, arm


def run(
    plan: Plan,
    place: Place,
    choices: Mapping[bool, Choice],
    replay: Replay,
    tell: Callable[[Progress], None],
) -> Experiment:
    """Send a session in each arm, and measure.

    Args:
        plan: the requests.
        place: where backends come from.
        choices: what to predict by, without and with the patch.
        replay: the arms that are run, and how.
        tell: told before each request.

    Returns:
        What was measured, up to where the backend failed or the user interrupted it.
    """
    runs = list(order(replay.arms, replay.repeats))
    pace = _Pace([(plan.requests(arm), arm) for _, arm in runs])
    bench = _Bench(place, choices, replay, min(plan.recorded, key=_size))
    measured: list[Measured] = []
    failure, interrupted = None, False
    try:
        with ExitStack() as stack:
            for repeat, arm in runs:
                with ExitStack() as own:
                    server = bench.server(arm, stack if place.is_kept else own)
                    server.empty()
                    for planned in plan.requests(arm):
                        tell(pace.progress(arm, repeat))
                        begun = time.perf_counter()
                        measured.append(server.ask(planned, arm, repeat))
                        pace.add(planned, time.perf_counter() - begun)
    except CachediagError as error:
        failure = error
    except KeyboardInterrupt:
        interrupted = True
    seen = {each.arm for each in measured}
    return Experiment(
        arms=tuple(arm for arm in replay.arms if arm.name in seen),
        measured=tuple(measured),
        warm_ups=tuple(bench.warm_ups),
        emptied=bench.emptied,
        repeats=replay.repeats,
        failure=failure,
        interrupted=interrupted,
    )


def _size(planned: Planned) -> int:
    return planned.prompt_tokens


class _Bench:
    """The servers that run."""

    def __init__(
        self, place: Place, choices: Mapping[bool, Choice], replay: Replay, shortest: Planned
    ) -> None:
        self._place = place
        self._choices = choices
        self._replay = replay
        self._shortest = shortest
        self._running: dict[bool, _Server] = {}
        self.warm_ups: list[float] = []
        self.emptied = "salted"

    def server(self, arm: Arm, stack: ExitStack) -> "_Server":
        """The server of an arm, started and warmed up where it does not run."""
        if self._place.is_kept and arm.patch in self._running:
            return self._running[arm.patch]
        live = stack.enter_context(self._place.opened(patched=arm.patch))
        is_cleared = cleared(live.base_url, self._replay.headers)
        if not self._place.is_kept:
            self.emptied = "restarted"
        elif is_cleared:
            self.emptied = "cleared"
        server = _Server(live, self._choices[arm.patch], self._replay, is_cleared=is_cleared)
        # What a model does for the first time it does slowly.
        self.warm_ups.append(server.warm_up(self._shortest))
        self._running[arm.patch] = server
        return server


class _Server:
    """A server, and the cache model that is played what it is sent."""

    def __init__(self, live: Live, choice: Choice, replay: Replay, *, is_cleared: bool) -> None:
        self._live = live
        self._choice = choice
        self._replay = replay
        self._is_cleared = is_cleared
        self._reader = Reader(live.base_url, recognise(live.base_url), live.log)
        self._prediction = Prediction(choice)
        self._salt: str | None = None

    def warm_up(self, planned: Planned) -> float:
        """Send a request that does not count; give its seconds."""
        self._salt = _new_salt()
        exchange = self._made(planned)
        answer = self._sent(exchange)
        self._prediction.of(exchange, answer)
        return answer.total

    def empty(self) -> None:
        """Make sure that nothing of what comes next is in a cache."""
        if self._is_cleared and cleared(self._live.base_url, self._replay.headers):
            self._salt = None
            self._prediction = Prediction(self._choice)
        else:
            self._salt = _new_salt()

    def ask(self, planned: Planned, arm: Arm, repeat: int) -> Measured:
        """Send a request, and predict it."""
        exchange = self._made(planned)
        self._reader.before()
        answer = self._sent(exchange)
        told = self._reader.told(exchange.info.endpoint, answer)
        predicted = self._prediction.of(exchange, answer)
        return Measured(
            arm=arm.name,
            repeat=repeat,
            index=planned.index,
            lane=planned.lane,
            warm=planned.warm,
            is_turn=planned.is_turn,
            first_token=answer.first_token,
            total=answer.total,
            prompt_tokens=predicted.prompt_tokens,
            predicted=predicted.reused_tokens,
            reused=told.reused,
            reported_prompt=told.prompt,
            source=told.source,
            exact=predicted.exact,
        )

    def _made(self, planned: Planned) -> Exchange:
        info = planned.exchange.info
        body = replayed(
            planned.exchange.request,
            info.endpoint,
            model=self._live.model,
            max_tokens=self._replay.max_tokens,
        )
        if self._salt is not None:
            body = salted(body, info.endpoint, self._salt)
        return timeless(planned.exchange, body)

    def _sent(self, exchange: Exchange) -> Answer:
        info = exchange.info
        headers = {name: info.headers[name] for name in _KEPT_HEADERS if name in info.headers}
        return send(
            self._live.base_url,
            _path(info),
            exchange.request,
            endpoint=info.endpoint,
            headers={**headers, **self._replay.headers},
            timeout=self._replay.timeout,
        )


def _path(info: ExchangeInfo) -> str:
    """The recorded path as the backend knows it, whatever stood before it where it was recorded."""
    query = info.path.partition("?")[2]
    return PATHS[info.endpoint] + (f"?{query}" if query else "")


def _new_salt() -> str:
    return f"Replay {secrets.token_hex(4)}."


class _Pace:
    """How long the rest will take, by the tokens that are to be prefilled."""

    def __init__(self, runs: Sequence[tuple[Sequence[Planned], Arm]]) -> None:
        self._total = sum(len(requests) for requests, _ in runs)
        self._left = float(sum(_work(each) for requests, _ in runs for each in requests))
        self._done = self._seconds = 0.0
        self._count = 0

    def add(self, planned: Planned, seconds: float) -> None:
        """Count a request that was answered."""
        self._count += 1
        self._done += _work(planned)
        self._left -= _work(planned)
        self._seconds += seconds

    def progress(self, arm: Arm, repeat: int) -> Progress:
        """How far it is, before the next request."""
        left = self._seconds * self._left / self._done if self._done else None
        return Progress(arm.name, repeat, self._count, self._total, left)


def _work(planned: Planned) -> int:
    return planned.prompt_tokens - planned.predicted + _FIXED
