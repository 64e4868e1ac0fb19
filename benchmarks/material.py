"""Made-up `/v1/messages` bodies of a coding agent's shape and size, the same on every run."""

import json
import random
from collections.abc import Iterator
from typing import Any

__all__ = ["Agent", "dumps"]

_VOCABULARY = 6000
_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in ("a", "e", "i", "o", "u", "ar", "en", "ol")]


def dumps(body: dict[str, Any]) -> bytes:
    """A body as agents send it: compact, UTF-8."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


class Agent:
    """A conversation that grows by a tool call and its result a turn.

    Args:
        seed: the same seed makes the same bytes.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._words = ["".join(self._random.choices(_SYLLABLES, k=3)) for _ in range(_VOCABULARY)]
        # As in natural text: a few words often, most of them seldom.
        self._weights = [1 / rank for rank in range(1, _VOCABULARY + 1)]
        self._tools = [self._tool(number) for number in range(16)]
        self._system = [self.prose(400), self.prose(12_000), self.prose(2_000)]
        self._messages: list[dict[str, Any]] = [
            {"role": "user", "content": [{"type": "text", "text": self.prose(600)}]}
        ]

    def prose(self, size: int) -> str:
        """About `size` characters of text with numbers, paths and hashes in it."""
        out: list[str] = []
        length = 0
        for word in self._random.choices(self._words, self._weights, k=size // 5):
            piece = self._odd(word)
            out.append(piece)
            length += len(piece) + 1
            if length >= size:
                break
        return " ".join(out)

    def _odd(self, word: str) -> str:
        chance = self._random.random()
        if chance < 0.02:
            return f"src/{word}/{self._random.randrange(1000)}.py:"
        if chance < 0.03:
            return f"{self._random.getrandbits(40):010x}"
        return f"{word}.\n" if chance < 0.12 else word

    def _tool(self, number: int) -> dict[str, Any]:
        names = [f"{self._random.choice(self._words)}_{n}" for n in range(8)]
        return {
            "name": f"Tool{number}",
            "description": self.prose(2_000),
            "input_schema": {
                "type": "object",
                "properties": {
                    name: {"type": "string", "description": self.prose(90)} for name in names
                },
                "required": names[:3],
            },
        }

    def body(self) -> dict[str, Any]:
        """The request as it stands, with a new billing header and its marker on the last block."""
        header = f"x-anthropic-billing-header: cc_version=2.1.113.fa9; cch={self._cch()};"
        system: list[dict[str, Any]] = [
            {"type": "text", "text": text} for text in (header, *self._system)
        ]
        system[-1]["cache_control"] = {"type": "ephemeral"}
        *earlier, last = self._messages
        *blocks, block = last["content"]
        marked = {**last, "content": [*blocks, {**block, "cache_control": {"type": "ephemeral"}}]}
        return {
            "model": "claude-sonnet-4-6",
            "messages": [*earlier, marked],
            "system": system,
            "tools": self._tools,
            "metadata": {"user_id": "user_bench_session_1"},
            "max_tokens": 32_000,
            "stream": True,
        }

    def _cch(self) -> str:
        return f"{self._random.getrandbits(20):05x}"

    def turn(self, size: int) -> None:
        """Let the conversation grow by about `size` bytes."""
        call = f"toolu_{self._random.getrandbits(80):020x}"
        name = self._random.choice(self._tools)["name"]
        said = size // 5
        self._messages += [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": self.prose(said)},
                    {"type": "tool_use", "id": call, "name": name, "input": {"path": "src/a.py"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": call,
                        "content": self.prose(size - said - 250),
                    }
                ],
            },
        ]

    def session(self, turns: int, last_size: int) -> Iterator[bytes]:
        """The bodies of a session that grows evenly, its last body of about `last_size` bytes."""
        first = dumps(self.body())
        step = (last_size - len(first)) // (turns - 1)
        yield first
        for _ in range(turns - 1):
            self.turn(step)
            yield dumps(self.body())
