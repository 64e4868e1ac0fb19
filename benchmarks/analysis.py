"""Analysis of a long session against `orjson.loads`, and against encoding each prompt whole."""

import json
import random
import resource
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.choice import choose
from cachediag.model import Exchange, ExchangeInfo

__all__ = ["measure"]

_WORDS = 3000


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
    turn = max(200, (last_bytes - 65_000) // requests)
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


def measure(requests: int = 500, last_bytes: int = 540_000) -> dict[str, float]:
    """Ratios of one run; processor time throughout.

    Returns:
        `megabytes` of the session; `to_json` the speed against `orjson.loads` (msgspec where
        orjson is not installed); `to_whole` against rendering and encoding each request whole;
        `growth` the time per raw megabyte of the whole session against its first half;
        `peak_megabytes` of the process.
    """
    try:
        from orjson import loads
    except ImportError:
        loads = msgspec.json.decode
    bodies = list(_session(requests, last_bytes))
    size = sum(map(len, bodies))
    started = time.process_time()
    for body in bodies:
        loads(body)
    parsed = time.process_time() - started
    whole = _seconds(bodies)
    half = bodies[: requests // 2]
    first = _seconds(half)
    naive = _naive(bodies[:: max(1, requests // 8)]) * size
    return {
        "megabytes": size / 1e6,
        "to_json": parsed / whole,
        "to_whole": naive / whole,
        "growth": (whole / size) / (first / sum(map(len, half))),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


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
