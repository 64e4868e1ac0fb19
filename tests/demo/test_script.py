"""The made-up session has the shape and the size of a real one, and makes sense."""

import json

import pytest

from cachediag.demo.script import Lane, Script, script


def size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def lanes(words: Script) -> dict[str, Lane]:
    return {lane.name: lane for lane in words.lanes}


def test_it_is_the_same_each_time(words: Script) -> None:
    assert script() == words


def test_it_takes_eleven_requests(words: Script) -> None:
    steps = {name: len(lane.steps) for name, lane in lanes(words).items()}
    assert steps == {"main": 7, "title": 1, "agent": 3}
    assert words.requests == 11


def test_tools_and_system_are_as_large_as_real_ones(words: Script) -> None:
    assert len(words.main.tools) == 20
    assert 35_000 < size(words.main.tools) < 60_000
    assert len(words.main.system) == 3
    assert 7_000 < size(words.main.system) < 20_000
    # Not only ASCII, so that bytes and characters are not the same thing.
    assert not words.main.system[1]["text"].isascii()


def test_the_agent_has_fewer_tools_and_a_system_of_its_own(words: Script) -> None:
    names = [tool["name"] for tool in words.agent.tools]
    assert names == ["FindReferences", "GitLog", "Glob", "Grep", "ListDirectory", "Read"]
    assert all(tool in words.main.tools for tool in words.agent.tools)
    assert words.agent.system[0] != words.main.system[0]
    assert words.agent.system[1] != words.main.system[1]
    assert words.agent.header.endswith(" cc_is_subagent=true;")
    assert words.title.tools == ()
    assert words.title.model != words.main.model


@pytest.mark.parametrize("number", range(20))
def test_a_tool_has_a_sound_schema(words: Script, number: int) -> None:
    tool = words.main.tools[number]
    schema = tool["input_schema"]
    assert list(tool) == ["name", "description", "input_schema"]
    assert set(schema["required"]) <= set(schema["properties"])
    assert all(each["type"] and each["description"] for each in schema["properties"].values())
    assert "{" not in tool["description"]


def test_calls_fit_the_tools(words: Script) -> None:
    for lane in (words.main, words.agent):
        schemas = {tool["name"]: tool["input_schema"] for tool in lane.tools}
        for call in filter(None, (step.call for step in lane.steps)):
            schema = schemas[call["name"]]
            assert set(schema["required"]) <= set(call["input"]) <= set(schema["properties"])


def test_every_turn_ends_in_words(words: Script) -> None:
    for lane in words.lanes:
        assert lane.steps[-1].call is None
        assert sum(step.call is None for step in lane.steps) == len(lane.prompts)


def test_a_list_of_objects_is_described_field_by_field(words: Script) -> None:
    (todo,) = [tool for tool in words.main.tools if tool["name"] == "TodoWrite"]
    items = todo["input_schema"]["properties"]["steps"]["items"]
    assert items["required"] == ["text", "state"]
    assert items["properties"]["state"]["enum"] == ["open", "doing", "done"]
    assert list(items["properties"]) == ["text", "state", "note"]


def test_the_place_that_the_agent_names_is_there(words: Script) -> None:
    table = words.agent.steps[1].result
    assert table is not None
    (edit,) = [step.call for step in words.main.steps if step.call and step.call["name"] == "Edit"]
    faulty = edit["input"]["old_text"].rstrip("\n")
    assert f"  112  {faulty}" in table.splitlines()
    assert "table.py:112" in words.agent.steps[-1].content[0]["text"]


def test_a_call_is_known_by_its_id(words: Script) -> None:
    assert len(words.results) == 7
    assert [key for key, result in words.results.items() if result is None] == ["toolu_main_02"]
