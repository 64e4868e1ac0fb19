"""How the analysis of one conversation, and a check of rules on it, grow with its turns."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.figure import Figure
from benchmarks.material import Agent, dumps
from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.choice import choose
from cachediag.collecting import collect_seldom
from cachediag.model import Exchange, ExchangeInfo
from cachediag.rules.check import check
from cachediag.rules.rule import Rule, RuleSet

__all__ = ["measure"]

_GROUP = "growth"
_TURNS = (50, 100, 200, 400)
_TURN_BYTES = 1_500
_ROUNDS = 3
_HEADER = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cch=00000;"
_RULE = Rule(
    "hold-billing-header",
    "V01",
    "replace",
    "chat",
    "messages[0].content",
    r"\Ax-anthropic-billing-header: [^\n]*",
    value=_HEADER,
)
_PROFILES = {"local": ("vllm-mlx@0.3.0", "qwen3"), "hosted": ("anthropic", None)}


def measure() -> Iterator[Figure]:
    """Analyse the first 50, 100, 200 and 400 requests of one conversation, for two backends.

    And check a rule on them as chat completions, whose first message is new each time. Processor
    time, the least of some rounds in which all take turns.
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
    yield _checking()
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


def _checking() -> Figure:
    talk = list(_chat())
    few, many = _TURNS[0], _TURNS[-1]
    rounds = [(_check_seconds(talk[:few]), _check_seconds(talk)) for _ in range(_ROUNDS)]
    of_few, of_many = (min(times) for times in zip(*rounds, strict=True))
    return Figure(
        group=_GROUP,
        name=f"rules check: time a request, {many} / {few} turns",
        value=of_many / many / (of_few / few),
        unit="×",
        aim=2,
    )


def _chat() -> Iterator[Exchange]:
    """The conversation as chat completions, its rotating header in the system message."""
    for exchange in _session():
        body = json.loads(exchange.request)
        system = "\n".join(block["text"] for block in body["system"])
        tools = [{"type": "function", "function": {"name": tool["name"]}} for tool in body["tools"]]
        messages = [{"role": "system", "content": system}, *map(_plain, body["messages"])]
        info = replace(exchange.info, endpoint="chat", path="/v1/chat/completions")
        yield Exchange(info, dumps({"model": "m", "messages": messages, "tools": tools}))


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message as chat completions write it."""
    texts = [str(block.get("text", block.get("content", ""))) for block in message["content"]]
    return {"role": message["role"], "content": "\n".join(texts)}


def _check_seconds(session: list[Exchange]) -> float:
    choice = choose("chat", profile_spec="generic", model_spec=None)
    choice.counter.encoder.chunks("loaded")
    started = time.process_time()
    assert check(session, RuleSet((_RULE,)), choice).touched == len(session)
    return time.process_time() - started


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
