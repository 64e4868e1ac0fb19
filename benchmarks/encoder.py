"""How fast prompts become tokens, against encoding each one whole."""

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeVar

from benchmarks.figure import Figure
from benchmarks.material import Agent
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import Tokenizer, tokenizer

__all__ = ["measure"]

_T = TypeVar("_T")

_GROUP = "encoder"
_REQUESTS = 300
_TURN = 1500
_SAMPLED = 20
"""One prompt in so many is encoded whole."""
_MEGABYTE = 1_000_000


def measure() -> Iterator[Figure]:
    """Encode a session's prompts, first all of them in pieces, then some of them whole."""
    loading, qwen = _timed(lambda: tokenizer("qwen3"))
    yield Figure(group=_GROUP, name="load qwen3", value=loading, unit="s")
    prompts = list(_prompts())
    characters = sum(len(text) for prompt in prompts for text in prompt)
    encoder = Encoder(qwen)
    pieces, sequences = _timed(lambda: [encoder.sequence(prompt) for prompt in prompts])
    whole = _whole(qwen, prompts[::_SAMPLED])
    yield _speed("a session", characters / pieces)
    yield _speed("whole prompts", whole)
    ratio = characters / pieces / whole
    yield Figure(
        group=_GROUP,
        name="a session / whole prompts",
        value=ratio,
        unit="×",
        aim=20,
        better="more",
    )
    again, _ = _timed(lambda: [encoder.sequence(prompt) for prompt in prompts])
    yield _speed("the session again", characters / again)
    pairs = list(pairwise(sequences))
    shared, _ = _timed(lambda: [a.shared(b) for a, b in pairs])
    yield Figure(
        group=_GROUP, name="shared tokens of a pair", value=shared / len(pairs) * 1e6, unit="µs"
    )
    yield _memory(qwen, prompts)


def _prompts() -> Iterator[list[str]]:
    """Each request's prompt in ChatML, in the texts that a template writes in one go."""
    agent = Agent(seed=5)
    written: dict[str, str] = {}
    for _ in range(_REQUESTS):
        body = agent.body()
        system = "\n".join(block["text"] for block in body["system"])
        tools = "\n".join(map(str, body["tools"]))
        said = [(one["role"], str(one["content"])) for one in body["messages"]]
        # The marker on the last block is no part of the prompt.
        said = [(role, text.split(", 'cache_control'")[0]) for role, text in said]
        yield [
            f"<|im_start|>system\n{system}\n<tools>\n{tools}\n</tools><|im_end|>\n",
            *(written.setdefault(text, _turn(role, text)) for role, text in said),
            "<|im_start|>assistant\n",
        ]
        agent.turn(_TURN)


def _turn(role: str, text: str) -> str:
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


def _timed(action: Callable[[], _T]) -> tuple[float, _T]:
    begun = time.perf_counter()
    result = action()
    return time.perf_counter() - begun, result


def _speed(name: str, speed: float) -> Figure:
    return Figure(group=_GROUP, name=name, value=speed / _MEGABYTE, unit="MB/s", better="more")


def _whole(qwen: Tokenizer, prompts: list[list[str]]) -> float:
    """Characters a second when each prompt is encoded whole."""
    texts = ["".join(prompt) for prompt in prompts]
    seconds, _ = _timed(lambda: [qwen.encode(text) for text in texts])
    return sum(map(len, texts)) / seconds


def _memory(qwen: Tokenizer, prompts: list[list[str]]) -> Figure:
    """What the encoder holds of a megabyte of new text."""
    new = {text for prompt in prompts for text in prompt[1:]}
    gc.collect()
    tracemalloc.start()
    encoder = Encoder(qwen)
    for text in new:
        encoder.chunks(text)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = sum(map(len, new))
    return Figure(group=_GROUP, name="held / new text", value=held / size, unit="×")
