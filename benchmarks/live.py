"""What the patch's options are worth on a real vllm-mlx: how much is kept, and for how many."""

import json
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.figure import Figure
from cachediag.analysis.choice import choose
from cachediag.analysis.tokenview import Counter
from cachediag.backends.sandbox import MODEL_SPEC, Running, Sandbox, copy_of, running
from cachediag.demo.client import opening
from cachediag.demo.live.recorded import made_up
from cachediag.fix.patch import Options, apply, at_site, plan_patch, state_of
from cachediag.protocol.response import read_response
from cachediag.verify.bodies import replayed, salted
from cachediag.verify.send import send

__all__ = ["measure"]

_GROUP = "live"
_RELEASE = "0.3.0"
_PREFIX, _TALK = 12_000, 8_000
"""Tokens."""
_TURNS = 3
_TWICE = 2.0
_LAST = 8
"""Tokens at the end of a prompt that are fed again, or written otherwise once a reply follows."""
_SAID = "- The tide at harbour {number} turns {late} minutes later than the almanac has it.\n"


def measure() -> Iterator[Figure]:
    """Send a long conversation to a server that keeps it and to one that keeps its head alone, and
    two prefixes in turn to a server with one slot and to one with two.

    Raises:
        CachediagError: something cannot be installed, or a server fails.
    """
    by = choose("messages", profile_spec=f"vllm-mlx@{_RELEASE}", model_spec=MODEL_SPEC)
    counter = by.counter
    bodies = _conversation(counter)
    talk = _tokens(bodies[0], counter) - _tokens(_head(_PREFIX, counter), counter)
    yield Figure(group=_GROUP, name="tokens of talk", value=talk, unit="", aim=_TALK, better="more")
    medians = {}
    for scope, options in {
        "system": Options(slots=1, scope="system"),
        "conversation": Options(slots=1, scope="conversation"),
    }.items():
        with _server(options) as server:
            replies = [_asked(server, body) for body in bodies]
        medians[scope] = median(seconds for seconds, _ in replies[1:])
        name = f"warm turn, scope {scope}, median"
        yield Figure(group=_GROUP, name=name, value=medians[scope], unit="s")
        if scope == "conversation":
            lengths = [_tokens(body, counter) for body in bodies]
            again = [
                before - reused
                for before, (_, reused) in zip(lengths[:-1], replies[1:], strict=True)
            ]
            name = "old tokens prefilled again in a warm turn, most"
            yield Figure(group=_GROUP, name=name, value=max(again), unit="", aim=_LAST)
    ratio = medians["system"] / medians["conversation"]
    name = "warm turn, scope system / conversation"
    yield Figure(group=_GROUP, name=name, value=ratio, unit="×", aim=_TWICE, better="more")
    # Unlike from the first words on.
    pair = [_head(0, counter), salted(_head(0, counter), "messages", "Second agent.")]
    for slots, hits in ((1, 0), (2, 4)):
        with _server(Options(slots=slots)) as server:
            reused = [_asked(server, body)[1] for body in pair * 3]
        found = sum(tokens > _tokens(pair[0], counter) // 2 for tokens in reused[2:])
        better: Any = "more" if hits else "less"
        name = f"two prefixes in turn, hits of 4 with {slots} slot{'s' * (slots > 1)}"
        yield Figure(group=_GROUP, name=name, value=found, unit="", aim=hits, better=better)


def _head(tokens: int, counter: Counter) -> bytes:
    """A first request, with a billing header that stays the same."""
    return opening(made_up(tokens, "sandbox", counter))


def _conversation(counter: Counter) -> list[bytes]:
    """Requests of one conversation: a long one, and those that follow it."""
    first = json.loads(_head(_PREFIX, counter))
    lines = [_SAID.format(number=number, late=number % 7) for number in range(_TALK // 21)]
    while True:
        messages = [*first["messages"], *_turn("".join(lines))]
        body = _body(first, messages)
        if _tokens(body, counter) >= _tokens(_body(first, first["messages"]), counter) + _TALK:
            break
        lines += lines[:50]
    bodies = [body]
    for number in range(_TURNS):
        messages = [*messages, *_turn(f"And at harbour {number}?")]
        bodies.append(_body(first, messages))
    return bodies


def _turn(text: str) -> list[dict[str, str]]:
    """What the model said, and what the user says next."""
    return [{"role": "assistant", "content": "Noted."}, {"role": "user", "content": text}]


def _body(first: dict[str, Any], messages: Sequence[Any]) -> bytes:
    return json.dumps({**first, "messages": messages}, separators=(",", ":")).encode()


def _tokens(body: bytes, counter: Counter) -> int:
    return len(counter.tokens(counter.parser.parse(body, "messages")))


@contextmanager
def _server(options: Options) -> Iterator[Running]:
    """A patched server, its model loaded and run once."""
    sandbox = Sandbox()
    with tempfile.TemporaryDirectory(prefix="cachediag-bench-") as directory:
        site = copy_of(sandbox, "vllm-mlx", _RELEASE, Path(directory, "site"))
        apply(plan_patch(state_of(at_site(site)), options))
        with running(sandbox, "vllm-mlx", _RELEASE, site_dir=site) as server:
            hello = {"model": "sandbox", "messages": [{"role": "user", "content": "Hello"}]}
            _asked(server, json.dumps({**hello, "max_tokens": 1, "stream": True}).encode())
            cleared = urllib.request.Request(f"{server.base_url}/v1/cache", method="DELETE")
            with urllib.request.urlopen(cleared, timeout=60):
                yield server


def _asked(server: Running, body: bytes) -> tuple[float, int]:
    """The seconds that a request took, and the tokens that were reused for it."""
    asked = replayed(body, "messages", model=server.model, max_tokens=1)
    answer = send(server.base_url, "/v1/messages", asked, endpoint="messages")
    usage = read_response("messages", answer.content_type, answer.body).usage
    return answer.total, (usage.cache_read or 0) if usage else 0
