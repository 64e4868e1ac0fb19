"""Analysis of a long session against `orjson.loads`, and against encoding each prompt whole."""

import json
import random
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.figure import Figure
from benchmarks.memory import peak
from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.choice import choose
from cachediag.collecting import collect_seldom
from cachediag.model import Exchange, ExchangeInfo

__all__ = ["measure"]

_GROUP = "analysis"
_WORDS = 3000
_REQUESTS = 500
_LAST_BYTES = 545_000


def _session(requests: int, last_bytes: int) -> Iterator[bytes]:
    """Bodies of a growing conversation with a rotating header and a moving marker."""
    rng = random.Random(20261129)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(_WORDS)]

    def text(size: int) -> str:
        return " ".join(rng.choices(words, k=max(1, size // 6)))

    def block(value: str, **more: Any) -> dict[str, Any]:
        return {"type": "text", "text": value, **more}

    tools = [
        {
            "name": f"Tool{n}",
            "description": text(2_000),
            "input_schema": {
                "type": "object",
                "properties": {k: {"type": "string", "description": text(80)} for k in "abc"},
            },
        }
        for n in range(20)
    ]
    rules = block(text(15_000), cache_control={"type": "ephemeral"})
    turn = max(200, (last_bytes - 65_000) // requests - 330)
    messages: list[dict[str, Any]] = [{"role": "user", "content": [block(text(2_000))]}]
    for number in range(requests):
        header = (
            f"x-anthropic-billing-header: cc_version=2.1.113.fa9; cch={rng.getrandbits(20):05x};"
        )
        result = {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": text(turn * 3 // 4),
        }
        newest = {**result, "cache_control": {"type": "ephemeral"}}
        body = {
            "model": "made-up",
            "messages": [*messages, {"role": "user", "content": [newest]}],
            "system": [block(header), block("You plan berths."), rules],
            "tools": tools,
            "max_tokens": 32_000,
            "stream": True,
        }
        yield json.dumps(body, separators=(",", ":")).encode()
        call = {
            "type": "tool_use",
            "id": f"t{number + 1}",
            "name": "Tool1",
            "input": {"a": text(60)},
        }
        messages += [
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [block(text(turn // 4)), call]},
        ]


def _seconds(bodies: list[bytes]) -> float:
    exchanges = [
        Exchange(ExchangeInfo(index=n, endpoint="messages", path="/v1/messages"), body)
        for n, body in enumerate(bodies)
    ]
    choice = choose("messages", profile_spec="vllm-mlx@0.2.6", model_spec="qwen3")
    choice.counter.encoder.chunks("loaded")
    started = time.process_time()
    summarise(analyse(exchanges, exchanges.__getitem__, choice), choice)
    return time.process_time() - started


def measure() -> Iterator[Figure]:
    """Analyse a session of 500 requests and 150 MB; processor time throughout.

    The session is analysed whole and its first half alone, and some of its requests are parsed,
    rendered and encoded with nothing remembered.
    """
    import orjson

    # As the commands do; everything that is measured here has it alike.
    collect_seldom()
    bodies = list(_session(_REQUESTS, _LAST_BYTES))
    size = sum(map(len, bodies))
    started = time.process_time()
    for body in bodies:
        orjson.loads(body)
    parsed = time.process_time() - started
    whole = _seconds(bodies)
    half = bodies[: _REQUESTS // 2]
    growth = (whole / size) / (_seconds(half) / sum(map(len, half)))
    naive = _naive(bodies[:: _REQUESTS // 8]) * size
    held = (peak() - size) / 2**20
    yield Figure(group=_GROUP, name="session", value=size / 1e6, unit="MB")
    yield Figure(
        group=_GROUP,
        name="speed / orjson.loads",
        value=parsed / whole,
        unit="×",
        aim=0.25,
        better="more",
    )
    yield Figure(
        group=_GROUP,
        name="speed / each request whole",
        value=naive / whole,
        unit="×",
        aim=30,
        better="more",
    )
    yield Figure(group=_GROUP, name="time a MB, whole / half", value=growth, unit="×", aim=1.1)
    yield Figure(group=_GROUP, name="peak memory less bodies", value=held, unit="MB", aim=400)


def _naive(sample: list[bytes]) -> float:
    """Seconds a byte to parse, render and encode requests one by one, nothing remembered."""
    from cachediag.protocol import parse
    from cachediag.render import profile
    from cachediag.tokens.tokenizers import tokenizer

    encode = tokenizer("qwen3").encode
    started = time.process_time()
    for body in sample:
        encode(profile("vllm-mlx@0.2.6").render(parse(body, "messages")).text)
    return (time.process_time() - started) / sum(map(len, sample))
