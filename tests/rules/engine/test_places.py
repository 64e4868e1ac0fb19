import pytest

from cachediag.rules.engine.places import PathError, places, steps

BODY = (
    b'{"tools":[{"name":"Bash","description":"x"},{"type":"function","function":{"name":"Read"}}],'
    b'"system":[{"text":"a"},{"text":"b"}],"system":[{"text":"c"}],"n":1}'
)


def found(path: str) -> list[tuple[str, bytes]]:
    return [(p.path, BODY[p.span.start : p.span.end]) for p in places(BODY, path)]


def test_a_path_leads_to_its_value():
    assert found("tools[0].description") == [("tools[0].description", b'"x"')]


def test_of_a_repeated_key_it_is_the_last_one():
    assert found("system[*].text") == [("system[0].text", b'"c"')]


def test_every_item():
    assert [path for path, _ in found("tools[*]")] == ["tools[0]", "tools[1]"]


def test_a_tool_is_found_by_its_name_in_both_protocols():
    assert [path for path, _ in found("tools[name=Bash]")] == ["tools[0]"]
    assert [path for path, _ in found("tools[name=Read].function.name")] == [
        "tools[1].function.name"
    ]


@pytest.mark.parametrize(
    "path", ["absent", "n[0]", "n.x", "tools.name", "system[7]", "tools[name=Edit]"]
)
def test_a_path_that_leads_nowhere_names_nothing(path):
    assert found(path) == []


@pytest.mark.parametrize("path", ["", "[0]", ".system", "system[", "system[-1]", "a..b", "a b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(PathError):
        steps(path)
