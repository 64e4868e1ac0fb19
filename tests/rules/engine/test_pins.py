import json

from cachediag.rules.engine.pins import _MOST_LANES, Pins, lane_of


def lane(**fields: object) -> bytes:
    body = {
        "model": "m",
        "tools": [{"name": "a"}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "<date>"}, {"type": "text", "text": "hi"}],
            }
        ],
    }
    return lane_of(json.dumps({**body, **fields}).encode())


def test_the_first_value_stays():
    pins = Pins()
    assert pins.first(b"1", ("r", "p", 0), b"a") == b"a"
    assert pins.first(b"1", ("r", "p", 0), b"b") == b"a"
    assert pins.first(b"1", ("r", "p", 1), b"b") == b"b"
    assert pins.first(b"2", ("r", "p", 0), b"b") == b"b"


def test_the_lanes_that_were_used_last_are_kept():
    pins = Pins()
    pins.first(b"old", ("r", "p", 0), b"a")
    pins.first(b"used", ("r", "p", 0), b"a")
    for number in range(_MOST_LANES - 1):
        pins.first(str(number).encode(), ("r", "p", 0), b"a")
        pins.first(b"used", ("r", "p", 0), b"b")
    assert pins.first(b"used", ("r", "p", 0), b"b") == b"a"
    assert pins.first(b"old", ("r", "p", 0), b"b") == b"b"


def test_a_conversation_is_one_lane_as_it_grows():
    longer = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "<later>"}, {"type": "text", "text": "hi"}],
        },
        {"role": "assistant", "content": "ho"},
    ]
    assert lane(messages=longer) == lane()
    assert lane(system="other", tools=[{"name": "a"}, {"name": "b"}]) == lane()


def test_model_words_and_the_lack_of_tools_tell_lanes_apart():
    lanes = {
        lane(),
        lane(model="n"),
        lane(tools=[]),
        lane(messages=[{"role": "user", "content": "ho"}]),
        lane(messages=[]),
        lane(messages=[{"role": "user", "content": [{"type": "image"}]}]),
    }
    # Without words there is nothing to tell by.
    assert len(lanes) == 5


def test_an_input_that_is_one_string():
    assert lane_of(b'{"input":"a"}') != lane_of(b'{"input":"b"}')
