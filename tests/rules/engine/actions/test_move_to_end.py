import json

from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.rule import Rule

USER = {"role": "user", "content": [{"type": "text", "text": "hi"}]}


def test_a_whole_block_goes_without_its_marker():
    block = {"type": "text", "text": "now", "cache_control": {"type": "ephemeral"}}
    rule = Rule("r", "V02", "move-to-end", "messages", "system[0]")
    body = json.dumps({"system": [block, {"type": "text", "text": "s"}], "messages": [USER]})
    made = json.loads(apply_rules(body.encode(), "messages", [rule]).body)
    assert made["system"] == [{"type": "text", "text": "s"}]
    assert made["messages"][0]["content"][1] == {"type": "text", "text": "now"}


def test_a_block_with_a_pattern_goes_where_all_of_its_text_matches():
    rule = Rule("r", "V02", "move-to-end", "messages", "system[*]", pattern=r"\A\d{2}:\d{2}\z")
    texts = ("15:09", "It is 15:09", "15:09 h")
    system = [{"type": "text", "text": text} for text in texts]
    body = json.dumps({"system": system, "messages": [USER]}).encode()
    made = json.loads(apply_rules(body, "messages", [rule]).body)
    assert [block["text"] for block in made["system"]] == ["It is 15:09", "15:09 h"]
    assert made["messages"][0]["content"][1]["text"] == "15:09"


def test_a_system_that_is_one_string_goes_with_its_key():
    rule = Rule("r", "V02", "move-to-end", "messages", "system")
    body = b'{"model":"m","system":"now","messages":[{"role":"user","content":"hi"}]}'
    assert apply_rules(body, "messages", [rule]).body == (
        b'{"model":"m","messages":[{"role":"user","content":'
        b'[{"type":"text","text":"hi"},{"type":"text","text":"now"}]}]}'
    )


def test_line_ends_stay_behind_however_they_are_spelled():
    rule = Rule("r", "V02", "move-to-end", "messages", "system", pattern="^(now\\\\n\n)b")
    body = (
        rb'{"system":"a\nnow\\n\u000ab","messages":[{"role":"user","content":[{"type":"text","text"'
        rb':"hi"}]}]}'
    )
    made = json.loads(apply_rules(body, "messages", [rule]).body)
    assert made["system"] == "a\nb"
    assert made["messages"][0]["content"][1]["text"] == "now\\n"
