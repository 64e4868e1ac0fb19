"""What cachediag predicts of a session, against what the real engine reused of it."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cachediag.analysis.engines import Served, engine
from cachediag.analysis.serving import cache_request, generated_text
from cachediag.backends.sandbox import Kind
from cachediag.model import Endpoint
from cachediag.protocol import Parser
from cachediag.protocol.reply import read_reply
from cachediag.protocol.response import read_response
from cachediag.render import profile, template
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.sequence import TokenSequence
from cachediag.tokens.tokenizers import tokenizer
from tests.live.engines_packages import MLX_LM, REPLY, VLLM_MLX, tiny_model
from tests.live.engines_servers import Answer, Server, server
from tests.live.engines_sessions import (
    Played,
    Reading,
    Script,
    chat_script,
    messages_script,
    play,
    sampling_script,
)

_LOOKED_UP = re.compile(
    r"System KV cache (HIT|MISS) \(stream_chat\): "
    r"(?:reusing|will prefill) (\d+) \D*?(\d+) (?:new|suffix)"
)


@dataclass(frozen=True, slots=True)
class Predicted:
    """A request as it was served, and as it was predicted."""

    played: Played
    prompt_tokens: int
    served: Served

    @property
    def is_equal(self) -> bool:
        return self.served.reused == self.played.reused

    def __str__(self) -> str:
        served, played = self.served, self.played
        reason = served.reason.code or served.reason.note if served.reason else "-"
        return (
            f"{played.exchange.info.index:2} {played.lane:8} prompt {self.prompt_tokens:5} "
            f"({played.prompt_tokens}) reused {served.reused:5} ({played.reused}) {reason}"
        )


def predicted(session: list[Played], spec: str, cache: str) -> list[Predicted]:
    """What a cache model says of a session that was played.

    Args:
        session: the requests, as they were served.
        spec: the profile.
        cache: the cache model.
    """
    model = template(str(tiny_model()))
    rules, parser = profile(spec, model), Parser()
    encoder = Encoder(tokenizer(str(tiny_model())))
    serving, seen, told = engine(cache), list[TokenSequence](), list[Predicted]()
    for played in session:
        exchange, info = played.exchange, played.exchange.info
        prompt = parser.parse(exchange.request, info.endpoint)
        kind = info.response_headers["content-type"]
        reply = read_reply(info.endpoint, kind, exchange.response)
        rendered = rules.render(prompt)
        assert rendered.exact
        tokens = encoder.sequence(segment.text for segment in rendered.segments)
        request = cache_request(
            prompt,
            rendered,
            encoder,
            index=info.index,
            lane=played.lane,
            shared=max((earlier.shared(tokens) for earlier in seen), default=0),
            tokens=tokens,
            generated=generated_text(reply, model, encoder) if reply else None,
            info=info,
        )
        seen.append(request.reply or tokens)
        told.append(Predicted(played, len(tokens), serving.serve(request)))
    return told


def hold(told: list[Predicted], *, silent: int, repeats: int) -> None:
    """Hold predictions against the engine.

    Args:
        told: the requests.
        silent: of how many the engine does not say how long the prompt is.
        repeats: how many reuse anything, for nothing is proven by those that do not.
    """
    table = "\n".join(map(str, told))
    print(table)
    counted = [each for each in told if each.played.prompt_tokens is not None]
    assert len(told) - len(counted) == silent, table
    assert all(each.prompt_tokens == each.played.prompt_tokens for each in counted), table
    assert all(each.is_equal for each in told), table
    assert sum(each.played.reused > 0 for each in told) == repeats, table


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.mark.parametrize(
    ("release", "endpoint", "repeats"),
    [(VLLM_MLX, "messages", 9), (VLLM_MLX, "chat", 17), ("0.4.1", "messages", 3)],
)
def test_vllm_mlx_reuses_what_is_predicted(
    release: str, endpoint: Endpoint, repeats: int, home: Path
) -> None:
    path, script, silent = _VLLM_MLX[endpoint]
    with server(home, "vllm-mlx", release) as running:
        session = play(running, path, script(), vllm_mlx_reading(running, endpoint))
    told = predicted(session, f"vllm-mlx@{release}", f"vllm-mlx@{release}")
    hold(told, silent=silent, repeats=repeats)


def _chat_and_sampling() -> Script:
    yield from chat_script()
    yield from sampling_script()


# Of a stream of `/v1/messages` that is not looked up, the engine does not tell the prompt's length.
_VLLM_MLX: dict[Endpoint, tuple[str, Callable[[], Script], int]] = {
    "messages": ("/v1/messages", messages_script, 2),
    "chat": ("/v1/chat/completions", _chat_and_sampling, 0),
}


def vllm_mlx_reading(server: Server, endpoint: Endpoint) -> Reading:
    """From the counters and the log: the usage of vllm-mlx does not tell of cached tokens."""
    counters = {"hits": 0, "misses": 0}
    position = 0

    def reading(answer: Answer) -> tuple[int, int | None]:
        nonlocal counters, position
        usage = read_response(endpoint, answer.content_type, answer.body).usage
        stated = (usage and usage.input_tokens) or None
        now = server.get("/v1/cache/stats")["engine_cache"]["system_kv_cache"]["counters"]
        hits, misses = (now[name] - counters[name] for name in ("hits", "misses"))
        counters = now
        lines = server.logged(_LOOKED_UP, position)
        position = len(server.log.read_text(encoding="utf-8"))
        assert len(lines) == hits + misses <= 1
        if not lines:
            return 0, stated
        kind, length, rest = lines[0].groups()
        assert (kind == "HIT") == bool(hits)
        whole = int(length) + int(rest)
        assert stated in (None, whole)
        return (int(length) if hits else 0), whole

    return reading


@pytest.mark.parametrize(
    ("release", "kind", "cache", "repeats"),
    [
        (MLX_LM, "qwen2", "mlx-lm", 26),
        ("0.32.2", "qwen2", "mlx-lm", 26),
        (MLX_LM, "mamba2", "mlx-lm:trim=0", 13),
    ],
)
def test_mlx_lm_reuses_what_is_predicted(
    release: str, kind: Kind, cache: str, repeats: int, home: Path
) -> None:
    with server(home, "mlx-lm", release, kind) as running:
        session = play(running, "/v1/chat/completions", chat_script(), mlx_lm_reading)
    assert b'"system_fingerprint": "%b-' % release.encode() in session[0].exchange.response
    hold(predicted(session, "mlx-lm", cache), silent=0, repeats=repeats)


def mlx_lm_reading(answer: Answer) -> tuple[int, int | None]:
    usage = read_response("chat", answer.content_type, answer.body).usage
    assert usage is not None
    assert usage.cache_read is not None
    return usage.cache_read, usage.input_tokens


def test_the_model_says_what_it_is_made_to_say(home: Path) -> None:
    """What the others rest on: replies that end, and encode into what was generated."""
    body = {"messages": [{"role": "user", "content": "Hello"}], "logprobs": True, "temperature": 0}
    with server(home, "mlx-lm", MLX_LM) as running:
        said = json.loads(running.post("/v1/chat/completions", json.dumps(body).encode()).body)
    choice = said["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == (REPLY, "stop")
    ids = [token["id"] for token in choice["logprobs"]["content"]]
    assert ids == tokenizer(str(tiny_model())).encode(f"{REPLY}<|im_end|>")
