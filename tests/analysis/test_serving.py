"""What caches are asked, against the same worked out from the whole text."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.analysis.engines import CacheRequest
from cachediag.analysis.serving import cache_request, generated_text
from cachediag.model import Endpoint, ExchangeInfo, Prompt
from cachediag.protocol import Parser, parse
from cachediag.protocol.reply import Reply, ReplyCall
from cachediag.render import Rendered, Template, profile, template
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import Tokenizer, tokenizer

PLAIN = (
    "{% for m in messages %}{{ m.role }}:\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:\n{% endif %}"
)
BASH = {"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}
HELLO = {"role": "user", "content": "Hello"}


@pytest.fixture(scope="module", params=["qwen2.5", "qwen3", "plain"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Template:
    """Two templates that print a segment a message, and one that prints all at once."""
    if request.param != "plain":
        return template(request.param)
    place = tmp_path_factory.mktemp("plain")
    (place / "tokenizer_config.json").write_text(json.dumps({"chat_template": PLAIN}))
    return template(str(place))


def encoder_of(model: Template) -> Encoder:
    return Encoder(tokenizer("qwen3" if model.name == "qwen3" else "qwen2.5"))


def parsed(endpoint: Endpoint, **body: Any) -> Prompt:
    return parse(json.dumps({"model": "m", "messages": [HELLO]} | body).encode(), endpoint)


def asked(
    prompt: Prompt, model: Template, spec: str = "vllm-mlx@0.6.0", **more: Any
) -> tuple[CacheRequest, Rendered, Encoder]:
    encoder = encoder_of(model)
    rendered = profile(spec, model).render(prompt)
    return (
        cache_request(prompt, rendered, encoder, index=0, lane="main", **more),
        rendered,
        encoder,
    )


def length(encoder: Encoder, text: str) -> int:
    return len(encoder.tokenizer.encode(text))


def begins(encoder: Encoder, head: str, text: str) -> bool:
    ids = encoder.tokenizer.encode(head)
    return encoder.tokenizer.encode(text)[: len(ids)] == ids


texts = st.one_of(
    st.sampled_from(["", "\n", "\n\nx", " x", "x", "<think>", "<|im_start|>", "日本 🚢"]),
    st.text(max_size=20),
)


@settings(max_examples=300, deadline=None)
@given(system=texts, turns=st.lists(texts, min_size=1, max_size=4))
def test_prefixes_are_those_of_the_whole_text(
    model: Template, system: str, turns: Sequence[str]
) -> None:
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(turns)]
    prompt = parsed("messages", system=system, messages=messages)
    request, rendered, encoder = asked(prompt, model)
    text = rendered.text
    assert list(request.tokens) == encoder.tokenizer.encode(text)
    prefix = text[: rendered.prefix or 0]
    whole = bool(prefix) and begins(encoder, prefix, text)
    assert request.system_length == (length(encoder, prefix) if whole else 0)
    assert bool(request.system_key) == whole
    if len(turns) % 2 == 0:
        assert request.history_length == 0
    else:
        before = text[: rendered.last_user]
        assert request.history_length <= length(encoder, before)
        if begins(encoder, before, text):
            assert request.history_length == length(encoder, before)


def test_the_key_tells_system_prefixes_apart(model: Template) -> None:
    one = asked(parsed("messages", system="You are Tern."), model)[0]
    again = parsed("messages", system="You are Tern.", messages=[HELLO, HELLO, HELLO])
    other = asked(parsed("messages", system="You are Gull."), model)[0]
    assert asked(again, model)[0].system_key == one.system_key != other.system_key
    assert one.system_length > 4


def test_without_a_system_message_there_is_no_system_prefix(model: Template) -> None:
    request = asked(parsed("messages"), model)[0]
    assert (request.system_length, request.system_key) == (0, b"")


def test_a_line_end_that_joins_the_templates_own_ends_the_prefix_too_early() -> None:
    """vllm-mlx compares token by token, and looks up nothing then."""
    model = template("qwen2.5")
    joined = parsed(
        "messages", system="You are Tern.", messages=[{"role": "user", "content": "\nHello"}]
    )
    request = asked(joined, model)[0]
    apart = asked(parsed("messages", system="You are Tern."), model)[0]
    # All but the line end after `user`.
    assert (request.system_length, request.system_shared) == (0, apart.system_length - 1)
    assert apart.system_shared == apart.system_length
    assert request.history_length == apart.history_length - 1


def test_what_the_request_asks_for() -> None:
    body: dict[str, Any] = {"tools": [BASH], "stream": True, "top_k": 4, "tool_choice": None}
    request = asked(parsed("messages", **body), template("qwen2.5"), shared=7)[0]
    assert (request.index, request.lane, request.shared) == (0, "main", 7)
    assert (request.endpoint, request.model) == ("messages", "m")
    assert (request.stream, request.has_tools) == (True, True)
    assert request.params["top_k"] == b"4"
    assert (request.started, request.first_byte, request.ended) == (None, None, None)
    bare = asked(parsed("chat", stream=False, tools=[]), template("qwen2.5"))[0]
    assert (bare.stream, bare.has_tools, bare.endpoint) == (False, False, "chat")


def test_times_are_those_of_the_recording() -> None:
    info = ExchangeInfo(endpoint="chat", path="/", started=1.0, first_byte=2.5, ended=4.0)
    request = asked(parsed("chat"), template("qwen2.5"), info=info)[0]
    assert (request.started, request.first_byte, request.ended) == (1.0, 2.5, 4.0)


@pytest.mark.parametrize(
    ("name", "thinks", "tail"), [("qwen3", False, 4), ("qwen3", True, 0), ("qwen2.5", False, 0)]
)
def test_the_tail_is_what_stops_thinking(name: str, thinks: bool, tail: int) -> None:
    prompt = parsed("chat", chat_template_kwargs={"enable_thinking": thinks})
    assert asked(prompt, template(name), "mlx-lm")[0].tail_length == tail


def test_a_thinking_tag_far_from_the_end_is_no_tail() -> None:
    said = {"role": "user", "content": "<think> is a tag, and many words come after it here."}
    assert asked(parsed("chat", messages=[said]), template("qwen3"), "mlx-lm")[0].tail_length == 0


@settings(max_examples=300, deadline=None)
@given(generated=texts)
def test_the_reply_goes_on_from_the_prompt(model: Template, generated: str) -> None:
    request, rendered, encoder = asked(parsed("chat"), model, generated=generated)
    assert request.reply is not None
    prompt, joined = (
        encoder.tokenizer.encode(t) for t in (rendered.text, rendered.text + generated)
    )
    assert list(request.reply)[: len(prompt)] == prompt
    if joined[: len(prompt)] == prompt:
        assert list(request.reply) == joined
    else:
        assert list(request.reply) == prompt + encoder.tokenizer.encode(generated)
    assert asked(parsed("chat"), model)[0].reply is None


class Counting:
    """A tokenizer that keeps what it was asked."""

    name, exact = "counting", True

    def __init__(self, of: Tokenizer) -> None:
        self.of, self.special, self.cuts = of, of.special, of.cuts
        self.asked: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.asked.append(text)
        return self.of.encode(text)

    def characters(self, text: str, token: int) -> int:
        return self.of.characters(text, token)

    def vocabulary(self) -> list[bytes]:
        return self.of.vocabulary()


def test_only_new_text_is_encoded() -> None:
    counting = Counting(tokenizer("qwen2.5"))
    rules, parser = profile("vllm-mlx@0.6.0", template("qwen2.5")), Parser()
    encoder = Encoder(counting)
    messages = [HELLO]
    for turn in range(3):
        body = json.dumps({"model": "m", "system": "You are Tern.", "messages": messages})
        prompt = parser.parse(body.encode(), "messages")
        counting.asked.clear()
        said = f"Reply {turn}."
        cache_request(
            prompt,
            rules.render(prompt),
            encoder,
            index=turn,
            lane="main",
            generated=f"{said}<|im_end|>",
        )
        messages = [
            *messages,
            {"role": "assistant", "content": said},
            {"role": "user", "content": f"Question {turn}."},
        ]
    # Nothing of the two turns before: not even the reply, which was encoded as a reply.
    assert counting.asked == ["<|im_start|>user\nQuestion 1.", "<|im_start|>assistant\nReply 2."]


def printed(reply: Reply, name: str) -> str | None:
    model = template(name)
    return generated_text(reply, model, encoder_of(model))


def test_text_is_what_was_generated_with_the_end_of_the_turn() -> None:
    odd = "<think>so</think>\n\n Größe \n"
    for name in ("qwen2.5", "qwen3"):
        assert printed(Reply(odd, ended=True), name) == f"{odd}<|im_end|>"
        assert printed(Reply(odd), name) == odd
        assert printed(Reply(ended=True), name) == "<|im_end|>"


CALLS = (ReplyCall("Bash", '{"command":"größe","n":1}'), ReplyCall("List", ""))
WRITTEN = (
    '<tool_call>\n{"name": "Bash", "arguments": {"command": "größe", "n": 1}}\n</tool_call>\n'
    '<tool_call>\n{"name": "List", "arguments": {}}\n</tool_call><|im_end|>'
)


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3"])
def test_calls_are_written_as_the_template_prints_them(name: str) -> None:
    assert printed(Reply(calls=CALLS, ended=True), name) == WRITTEN
    for text in ("I look.", "I look.\n"):
        assert printed(Reply(text, calls=CALLS, ended=True), name) == f"I look.\n{WRITTEN}"


def test_a_call_that_was_cut_off_cannot_be_told() -> None:
    assert printed(Reply(calls=CALLS), "qwen2.5") is None


def test_thinking_is_put_back_before_the_text() -> None:
    thought = "<think>\nHm.\n</think>\n\n"
    said = Reply("One.", "\nHm.\n", ended=True)
    assert printed(said, "qwen3") == f"{thought}One.<|im_end|>"
    assert printed(Reply("", "Hm.", CALLS, ended=True), "qwen3") == f"{thought}{WRITTEN}"


def test_a_template_that_refuses_replies_tells_nothing(tmp_path: Path) -> None:
    refusing = "{% for m in messages %}{{ m.tool_calls[0].id + 1 }}{% endfor %}"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": refusing}))
    model = template(str(tmp_path))
    assert generated_text(Reply("One.", ended=True), model, encoder_of(model)) is None
