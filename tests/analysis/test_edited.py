from cachediag.analysis.edited import is_edit
from cachediag.analysis.traits import Traits, traits
from cachediag.model import ExchangeInfo
from cachediag.protocol import parse
from tests.compare.bodies import Body, raw

_PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def talk(*said: Body) -> Traits:
    info = ExchangeInfo(endpoint="chat", path="/v1/chat/completions")
    return traits(info, parse(raw({"messages": list(said)}), "chat"))


def user(content: object) -> Body:
    return {"role": "user", "content": content}


def model(content: str) -> Body:
    return {"role": "assistant", "content": content}


def call(name: str, arguments: str = "{}", says: str | None = None) -> Body:
    function = {"name": "Bash", "arguments": arguments}
    made = {"id": name, "type": "function", "function": function}
    return {"role": "assistant", "content": says, "tool_calls": [made]}


def result(name: str, content: str) -> Body:
    return {"role": "tool", "tool_call_id": name, "content": content}


def edited(later: Traits, first: Traits) -> bool:
    return is_edit(later, first, first)


def test_a_call_that_both_hold_tells():
    before = talk(user("Fix it."), call("call_4Gm", '{"a":1}'), result("call_4Gm", "12"))
    after = talk(user("Fix it."), call("call_4Gm", '{"a": 1}'), result("call_4Gm", "12"))
    assert edited(after, before)


def test_a_rewritten_result_at_the_end_is_an_edit():
    before = talk(user("Fix it."), call("call_4Gm"), result("call_4Gm", "12"))
    after = talk(
        user("Fix it."), call("call_4Gm"), result("call_4Gm", "twelve"), model("Done."), user("So?")
    )
    assert edited(after, before)


def test_calls_that_a_server_counts_tell_only_as_a_whole():
    for name in ("call_0", "functions.Bash:0", "7"):
        before = talk(user("Fix it."), call(name, '{"a":1}'), model("Done."), user("Go on."))
        other = talk(user("Paint it."), call(name, '{"b":2}'), model("Painted."), user("And now?"))
        same = talk(user("Mend it."), call(name, '{"a":1}'), model("Done."), user("Go on."))
        assert not edited(other, before)
        assert edited(same, before)


def test_a_window_that_slid_holds_what_was_newest():
    turns = [
        user("How long?"),
        model("Ten."),
        user("How deep?"),
        model("Nine."),
        user("When?"),
        model("At five."),
        user("Write it down."),
    ]
    assert edited(talk(*turns[2:]), talk(*turns[:5]))
    assert not edited(talk(user("When?"), model("Now."), user("Well.")), talk(*turns[:5]))


def test_who_goes_back_parts_within_the_history():
    turns = [user("How long?"), model("Ten."), user("How deep?"), model("Nine."), user("When?")]
    assert edited(talk(*turns[:2], user("Who says so?")), talk(*turns))


def test_ids_drawn_anew_part_within_a_message_of_the_model():
    before = talk(user("Fix it."), call("call_4Gm", says="I look."), result("call_4Gm", "12"))
    after = talk(
        user("Fix it."),
        call("call_9Zq", says="I look."),
        result("call_9Zq", "12"),
        model("Done."),
        user("So?"),
    )
    assert edited(after, before)


def test_an_image_that_became_text_is_an_edit():
    asked = {"type": "text", "text": "What is wrong?"}
    went_on = (model("The berth."), user("And the draught?"))
    before = talk(user([asked, _PICTURE]))
    assert edited(talk(user([asked, {"type": "text", "text": "[picture]"}]), *went_on), before)
    other = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert not edited(talk(user([asked, other]), *went_on), before)
    assert not edited(talk(user([asked, {"type": "text", "text": "[picture]"}])), before)
    assert edited(talk(user([asked]), *went_on), before)
    fix, paint = ({"type": "text", "text": task} for task in ("Fix it.", "Paint it."))
    assert not edited(talk(user([paint, asked]), *went_on), before)
    assert not edited(talk(user([asked, paint]), *went_on), talk(user([asked, fix])))
    alone = talk(user([_PICTURE]))
    assert not edited(talk(user([{"type": "text", "text": "[picture]"}]), *went_on), alone)


def test_talks_that_open_alike_and_part_at_the_task_are_two():
    canned = [user("Mind the rules."), call("call_4Gm"), result("call_4Gm", "12"), model("Yes.")]
    before = talk(*canned, user("Fix it."))
    assert not edited(talk(*canned, user("Paint it.")), before)
    assert not edited(talk(*canned, user("Paint it."), model("Done."), user("So?")), before)
    gone_on = talk(*canned, user("Fix it."), model("Done."), user("So?"))
    assert not is_edit(talk(*canned, user("Paint it.")), before, gone_on)


def test_talks_that_open_alike_and_part_within_the_newest_message_are_two():
    canned = [user("Mind the rules."), model("Yes.")]
    reminder, fix, paint = (
        {"type": "text", "text": text} for text in ("Today is Monday.", "Fix it.", "Paint it.")
    )
    assert not edited(talk(*canned, user([reminder, paint])), talk(*canned, user([reminder, fix])))


def test_a_call_of_the_responses_protocol_tells_by_its_call_id():
    def asked(arguments: str) -> Traits:
        called = {"type": "function_call", "call_id": "call_4Gm", "name": "Bash"}
        items = [user("Fix it."), {**called, "arguments": arguments}, user("So?")]
        info = ExchangeInfo(endpoint="responses", path="/v1/responses")
        return traits(info, parse(raw({"input": items}), "responses"))

    assert edited(asked('{"a": 1}'), asked('{"a":1}'))


def test_one_standing_task_at_the_end_of_other_histories():
    def noting(task: str) -> Traits:
        return talk(user("Hi."), model("Yes."), user(task), model("Done."), user("Note it."))

    assert not edited(noting("Fix it."), noting("Paint it."))


def test_nothing_said_is_no_edit():
    assert not edited(talk(), talk(user("Fix it.")))
    assert not edited(talk(user("Fix it.")), talk())
