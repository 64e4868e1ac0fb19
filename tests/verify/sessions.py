"""Made-up sessions, and a made-up engine that reuses what a cache model says."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cachediag.analysis.choice import Choice, choose
from cachediag.model import Exchange, ExchangeInfo
from cachediag.rules.rule import Rule
from cachediag.session.source import MemorySource, numbered
from cachediag.verify.predict import Prediction
from cachediag.verify.send import Answer
from tests.conftest import Received, Reply

__all__ = ["STRIP", "Backend", "choice", "session", "turn"]

STRIP = Rule(
    "strip-billing-header",
    "V01",
    "drop-block",
    "messages",
    "system[*]",
    pattern=r"\Ax-anthropic-billing-header: .*\Z",
)
_PROSE = "The ferry leaves the north quay at seven, and the harbour master keeps its papers. " * 12


def turn(number: int, *, system: str = _PROSE, tools: bool = True, **more: Any) -> bytes:
    """A request after some finished turns, its billing header new."""
    messages = [{"role": "user", "content": "What lies at the quay?"}]
    for each in range(number):
        messages.append({"role": "assistant", "content": f"Ship {each} does."})
        messages.append({"role": "user", "content": f"And behind ship {each}?"})
    header = f"x-anthropic-billing-header: cc_version=2.1.113; cch={number:05x};"
    tool = {"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object"}}
    body = {
        "model": "recorded",
        "system": [{"type": "text", "text": text} for text in (header, system)],
        "messages": messages,
        **({"tools": [tool]} if tools else {}),
        "max_tokens": 4096,
        "stream": True,
        **more,
    }
    return json.dumps(body).encode()


def session(*bodies: bytes) -> MemorySource:
    """The bodies as a recording; by default four turns of one talk."""
    sent = bodies or tuple(turn(number) for number in range(4))
    info = ExchangeInfo(endpoint="messages", path="/v1/messages?beta=true", model="recorded")
    return numbered("harbour", [Exchange(info, body) for body in sent])


def choice(engine: str = "sglang") -> Choice:
    """What counts and predicts."""
    return choose(
        "messages",
        profile_spec="vllm-mlx@0.3.0:strip=off",
        model_spec="qwen2.5",
        engine_spec=engine,
    )


@dataclass
class Backend:
    """Answers requests, and reports what its cache model reuses of them.

    Args:
        engine: the cache model.
        clears: it empties its cache when it is told to.
        tells: it says what it reused.
        lies: so many tokens fewer are said to be reused than are.
        fails_at: answers the request of this number with an error.
    """

    engine: str = "sglang"
    clears: bool = False
    tells: bool = True
    lies: int = 0
    fails_at: int | None = None
    bodies: list[bytes] = field(default_factory=list)
    on_request: Callable[[int], None] = lambda _: None
    _prediction: Prediction | None = None

    def answer(self, request: Received, reply: Reply) -> None:
        if request.method == "DELETE" and self.clears:
            self._prediction = None
            reply.body(b'{"status": "cleared"}', content_type="application/json")
        elif request.method == "POST":
            self._post(request, reply)
        else:
            reply.body(b"", 404)

    def _post(self, request: Received, reply: Reply) -> None:
        number = len(self.bodies)
        self.bodies.append(request.body)
        self.on_request(number)
        if number == self.fails_at:
            reply.body(b"out of memory", 500)
            return
        self._prediction = self._prediction or Prediction(choice(self.engine))
        info = ExchangeInfo(endpoint="messages", path="/v1/messages")
        answer = Answer(b"".join(_events({})), "text/event-stream", 0.0, None, 0.0)
        found = self._prediction.of(Exchange(info, request.body), answer)
        reused = max(0, found.reused_tokens - self.lies)
        usage = {"input_tokens": found.prompt_tokens - reused, "output_tokens": 1}
        if self.tells:
            usage["cache_read_input_tokens"] = reused
        reply.stream(*_events(usage))


def _events(usage: dict[str, int]) -> Iterator[bytes]:
    delta = {"type": "text_delta", "text": "A"}
    for event in (
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": usage},
        {"type": "message_stop"},
    ):
        yield b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), json.dumps(event).encode())
