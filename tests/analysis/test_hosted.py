"""Where hosted caches look: at block ends, in the tokens of the whole prompt."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.analysis.engines import Breakpoint, CacheRequest, PromptBlock
from cachediag.analysis.hosted import Places
from cachediag.model import Endpoint, Prompt
from cachediag.protocol import Parser, parse
from cachediag.render import Profile, profile
from cachediag.render.rendered import Rendered, Segment
from cachediag.render.templates import template
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import tokenizer
from tests.compare.bodies import Body, body, raw, tool


def plain(prompt: Prompt, rendered: Rendered, encoder: Encoder, length: int) -> list[PromptBlock]:
    """The blocks of a prompt with nothing remembered: each place in its text looked through."""
    ends, at = [0] * len(prompt.blocks), 0
    for segment, first in zip(rendered.segments, rendered.firsts, strict=True):
        tokens = sum(len(chunk.ids) for chunk in encoder.chunks(segment.text))
        characters = 0
        for text, block in segment.pieces:
            characters += len(text)
            if block is not None:
                ends[first + block] = at + round(tokens * (characters / len(segment.text)))
        at += tokens
    for number in range(1, len(ends)):
        ends[number] = max(ends[number], ends[number - 1])
    return [
        PromptBlock(min(end, length), block.section, block.kind, block.role, block.message)
        for block, end in zip(prompt.blocks, ends, strict=True)
    ]


def plain_breakpoints(prompt: Prompt) -> tuple[Breakpoint, ...]:
    return tuple(
        Breakpoint(number, "1h" if block.marker.ttl == "1h" else "5m")
        for number, block in enumerate(prompt.blocks)
        if block.marker is not None
    )


class Session:
    """Asks for the blocks of one prompt after another."""

    def __init__(self, model: str, backend: Profile) -> None:
        self.encoder = Encoder(tokenizer(model))
        self.places = Places(self.encoder)
        self._parser = Parser()
        self._backend = backend

    def asked(self, made: Body, endpoint: Endpoint = "messages") -> CacheRequest:
        """What a hosted cache is asked, held against the plain way."""
        prompt = self._parser.parse(raw(made), endpoint)
        rendered = self._backend.render(prompt)
        tokens = self.encoder.sequence(rendered.texts, rendered.talk)
        bare = CacheRequest(index=0, lane="main", tokens=tokens)
        asked = self.places.with_blocks(bare, prompt, rendered)
        assert [*asked.blocks] == plain(prompt, rendered, self.encoder, len(tokens))
        assert asked.breakpoints == plain_breakpoints(prompt)
        assert asked.has_images == (
            b'"type":"image"' in b"".join(b.canonical for b in prompt.blocks)
        )
        return asked


def test_block_ends_stay_within_a_prompt_that_is_encoded_in_one():
    made = body()
    made["messages"] += [
        {"role": "assistant", "content": "x " * 40},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]
    # Tokens merge where one block's text meets the next.
    asked = Session("qwen2.5", profile("anthropic")).asked(made)
    ends = [block.end for block in asked.blocks]
    assert len(ends) == parse(raw(made)).block_count
    assert ends == sorted(ends)
    assert 0 < ends[0] < ends[-1] == len(asked.tokens)


def test_markers_are_breakpoints():
    made = body()
    made["system"][1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    asked = Session("claude", profile("anthropic")).asked(made)
    marked = [n for n, block in enumerate(parse(raw(made)).blocks) if block.marker]
    assert [point.block for point in asked.breakpoints] == marked
    assert "1h" in {point.lifetime for point in asked.breakpoints}


def test_blocks_are_taken_like_those_of_a_tuple():
    blocks = Session("claude", profile("anthropic")).asked(body()).blocks
    listed = tuple(blocks)
    assert (blocks[-1], blocks[2:5]) == (listed[-1], listed[2:5])
    with pytest.raises(IndexError):
        blocks[len(listed)]


def test_a_request_without_messages_has_the_blocks_of_its_head():
    made = body(messages=[])
    blocks = Session("claude", profile("anthropic")).asked(made).blocks
    assert [block.section for block in blocks] == ["tools"] * 3 + ["system"] * 2
    assert (
        not Session("claude", profile("anthropic"))
        .asked(body(messages=[], system=[], tools=[]))
        .blocks
    )


def test_only_what_is_new_in_a_conversation_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session("claude", profile("anthropic"))
    made = body()
    made["messages"] += [{"role": "user", "content": f"turn {n}"} for n in range(300)]
    session.asked(made)
    looked = list[str]()
    measure = Places._measure

    def noted(places: Places, segment: Segment) -> tuple[int, tuple[tuple[int, int], ...]]:
        looked.append(segment.text)
        return measure(places, segment)

    monkeypatch.setattr(Places, "_measure", noted)
    made["system"][0]["text"] += " and a longer header than before"
    made["messages"].append({"role": "user", "content": "the newest"})
    session.asked(made)
    assert looked == [f"{made['system'][0]['text']}\n", "\nuser:\nthe newest\n"]


_TEXT = {"type": "text", "text": "Some words that make up a text."}
_MARKED = {**_TEXT, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
_CALL = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "plan.py"}}
_RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "x = 1\n" * 9}
_CONTENTS: Sequence[Any] = (
    *("Just a string.", "", [], [_TEXT], [_MARKED], [_TEXT, _CALL], [_RESULT], [_RESULT, _TEXT]),
    *([_TEXT, _RESULT], [_TEXT, _IMAGE], [{"type": "text", "text": ""}], [_TEXT] * 3),
    *([{**_RESULT, "content": [_IMAGE]}], [{"type": "odd", "of": 1}]),
)
_MESSAGE = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant", "system"]),
    st.sampled_from(_CONTENTS),
)
_HEADERS = ("x-anthropic-billing-header: cch=6c09a;", "x-anthropic-billing-header: cch=zzzzzzzzz;")
_BACKENDS = [
    ("claude", profile("anthropic")),
    ("qwen2.5", profile("anthropic")),
    ("qwen3", profile("generic", template("qwen3"))),
    ("qwen3", profile("vllm-mlx@0.3.0", template("qwen3"))),
]


@pytest.mark.parametrize(("model", "backend"), _BACKENDS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_blocks_of_a_session_are_those_of_each_prompt_alone(
    model: str, backend: Profile, data: st.DataObject
) -> None:
    """Conversations that go on, are edited in the middle, and take turns with others."""
    session = Session(model, backend)
    talks: list[list[Body]] = [[], []]
    for _ in range(6):
        number = data.draw(st.integers(0, 1))
        keep = data.draw(st.integers(0, len(talks[number])))
        more = data.draw(st.lists(_MESSAGE, max_size=4))
        talks[number] = [*talks[number][:keep], *more]
        made = body(messages=talks[number])
        made["system"][0]["text"] = data.draw(st.sampled_from(_HEADERS))
        made["system"] = made["system"][data.draw(st.integers(0, 2)) :]
        made["tools"] = [tool("Read", "Read a file."), *made["tools"]][
            data.draw(st.integers(0, 1)) : data.draw(st.integers(0, 3))
        ]
        session.asked(made)
