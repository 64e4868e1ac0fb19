import json

from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.rule import Rule


def body(*tools):
    return json.dumps(
        {
            "model": "m",
            "tools": [{"name": name, "description": text} for name, text in tools],
            "messages": [{"role": "user", "content": "hi"}],
        }
    ).encode()


def test_a_named_tool_keeps_its_value_wherever_it_stands():
    rule = Rule("r", "V02", "pin", "messages", "tools[name=B].description", pattern=r"^at (\d+)$")
    pins = Pins()
    first = body(("A", "a"), ("B", "at 1"))
    assert apply_rules(first, "messages", [rule], pins).body is first
    later = apply_rules(body(("B", "at 2"), ("A", "a")), "messages", [rule], pins)
    assert json.loads(later.body)["tools"][0]["description"] == "at 1"


def test_items_of_an_array_keep_values_of_their_own():
    rule = Rule("r", "V02", "pin", "messages", "tools[*].description", pattern=r"^at (\d+)$")
    pins = Pins()
    first = body(("A", "at 1"), ("B", "at 2"))
    assert apply_rules(first, "messages", [rule], pins).body is first
    later = apply_rules(body(("A", "at 3"), ("B", "at 4")), "messages", [rule], pins)
    made = [tool["description"] for tool in json.loads(later.body)["tools"]]
    assert made == ["at 1", "at 2"]
