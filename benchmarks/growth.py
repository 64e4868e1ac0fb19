"""How the analysis of one conversation grows with its turns."""

import time
from collections.abc import Iterator

from benchmarks.figure import Figure
from benchmarks.material import Agent, dumps
from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.choice import choose
from cachediag.collecting import collect_seldom
from cachediag.model import Exchange, ExchangeInfo

__all__ = ["measure"]

_GROUP = "growth"
_TURNS = (50, 100, 200, 400)
_TURN_BYTES = 1_500
_ROUNDS = 3
_PROFILES = {"local": ("vllm-mlx@0.3.0", "qwen3"), "hosted": ("anthropic", None)}


def measure() -> Iterator[Figure]:
    """Analyse the first 50, 100, 200 and 400 requests of one conversation, for two backends.

    Processor time, the least of some rounds in which all take turns.
    """
    # As the commands do.
    collect_seldom()
    session = list(_session())
    sizes = {turns: sum(len(each.request) for each in session[:turns]) / 1e6 for turns in _TURNS}
    taken: dict[tuple[str, int], list[float]] = {}
    for _ in range(_ROUNDS):
        for turns in _TURNS:
            for name in _PROFILES:
                taken.setdefault((name, turns), []).append(_seconds(session[:turns], name))
    for name in _PROFILES:
        best = {turns: min(taken[name, turns]) for turns in _TURNS}
        a_megabyte = {turns: 1e3 * best[turns] / sizes[turns] for turns in _TURNS}
        for turns in _TURNS:
            figure = f"{name}: {turns} turns, time a MB"
            yield Figure(group=_GROUP, name=figure, value=a_megabyte[turns], unit="ms")
        first, last = _TURNS[0], _TURNS[-1]
        yield Figure(
            group=_GROUP,
            name=f"{name}: time a MB, {last} / {first} turns",
            value=a_megabyte[last] / a_megabyte[first],
            unit="×",
            aim=1.1,
        )
        yield Figure(
            group=_GROUP,
            name=f"{name}: time a request, {last} / {first} turns",
            value=best[last] / last / (best[first] / first),
            unit="×",
            aim=2,
        )


def _session() -> Iterator[Exchange]:
    """A conversation with a rotating billing header and a moving marker, ten seconds a turn."""
    agent = Agent(seed=23)
    for number in range(_TURNS[-1]):
        started = 10.0 * number
        info = ExchangeInfo(
            index=number,
            endpoint="messages",
            path="/v1/messages",
            started=started,
            first_byte=started + 1,
            ended=started + 3,
        )
        yield Exchange(info, dumps(agent.body()))
        agent.turn(_TURN_BYTES)


def _seconds(session: list[Exchange], name: str) -> float:
    profile, model = _PROFILES[name]
    choice = choose("messages", profile_spec=profile, model_spec=model)
    choice.counter.encoder.chunks("loaded")
    started = time.process_time()
    summarise(analyse(session, session.__getitem__, choice), choice)
    return time.process_time() - started
