"""The text form of hosted prompts: what is remembered changes nothing."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.model import Part, Run
from cachediag.protocol import Parser, parse
from cachediag.render.rendered import Segment
from cachediag.render.templates.canonical import Canonical
from tests.compare.bodies import Body, body, raw

_CONTENTS: tuple[Any, ...] = (
    *("Just a string.", [], [{"type": "text", "text": "a"}]),
    [{"type": "text", "text": "b"}, {"type": "tool_use", "id": "t", "name": "Read", "input": {}}],
    [{"type": "tool_result", "tool_use_id": "t", "content": "x = 1"}],
)
_MESSAGE = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant"]),
    st.sampled_from(_CONTENTS),
)


def seen(template: Canonical, parser: Parser, made: Body) -> tuple[Any, ...]:
    rendered = template.render(parser.parse(raw(made), "messages"))
    numbers = rendered.talk, rendered.prefix, rendered.last_user
    return rendered.text, rendered.firsts, rendered.pieces, *numbers


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_conversation_that_goes_on_is_written_as_alone(data: st.DataObject) -> None:
    template, parser, talk = Canonical(), Parser(), list[Body]()
    for _ in range(5):
        keep = data.draw(st.integers(0, len(talk)))
        talk = [*talk[:keep], *data.draw(st.lists(_MESSAGE, max_size=3))]
        made = body(messages=talk)
        made["system"] = made["system"][data.draw(st.integers(0, 2)) :]
        assert seen(template, parser, made) == seen(Canonical(), Parser(), made)


def test_the_conversation_begins_behind_tools_and_system_prompt():
    made = body()
    rendered = Canonical().render(parse(raw(made)))
    assert rendered.talk == len(made["tools"]) + len(made["system"])
    assert rendered.starts[rendered.talk] == rendered.prefix
    assert rendered.texts[rendered.talk].startswith("\nuser:\n")


def test_only_new_messages_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    template, parser, made = Canonical(), Parser(), body()
    template.render(parser.parse(raw(made)))
    asked = list[str]()
    segment = Canonical._segment

    def noted(written: Canonical, part: Part, run: Run) -> Segment:
        asked.append(run.section)
        return segment(written, part, run)

    monkeypatch.setattr(Canonical, "_segment", noted)
    made["messages"].append({"role": "user", "content": "new"})
    template.render(parser.parse(raw(made)))
    assert asked == ["tools"] * 3 + ["system"] * 2 + ["messages"]
