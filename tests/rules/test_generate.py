import copy

from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.file import parse_rules, write_rules
from cachediag.rules.generate import generate
from cachediag.session.source import numbered
from tests.analysis.sessions import main, recorded, sub_agent, title
from tests.compare.bodies import HEADER, RULES, body, raw, tool
from tests.rules.trials import choice, in_system, rotating

STATUS = "Current branch: main\n\nStatus:\n{}\nRecent commits:\n3f9c2ab Keep berth numbers"
STRIP = (
    r"\Ax-anthropic-billing-header: cc_version=[0-9A-Za-z_.-]{1,80};"
    r"(?: cc_entrypoint=[0-9A-Za-z_.-]{1,80};)?(?: cch=[0-9a-f]{5};)?"
    r"(?: cc_workload=[0-9A-Za-z_.-]{1,80};)?(?: cc_is_subagent=(?:true|false);)?"
    r"(?: cc_prev_req=[0-9A-Za-z_.-]{1,80};)?"
    r"(?: cc_prompt_id=[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12};)?"
    r"(?: cc_turn_origin=[0-9A-Za-z_.-]{1,80};)?(?: cc_prompt_index=\d{1,9};)?"
    r"(?: cc_turn_index=\d{1,9};)?\z"
)


def made_from(bodies, profile="vllm-mlx@0.2.6"):
    """The rules for a session of some bodies; what is made can always be read again."""
    made = generate(numbered("made-up", recorded(bodies)), choice(profile=profile), "qwen2.5")
    text = write_rules(made.ruleset, made.notes, head="made up", foot=made.foot)
    assert parse_rules(text, "rules.toml") == made.ruleset
    return made


def rows(made):
    return [(r.id, r.finding, r.action, r.path, r.enabled) for r in made.ruleset.rules]


def with_system(texts):
    """A conversation whose second system block says one text after the other."""
    return [in_system(main(*map(str, range(n))), text) for n, text in enumerate(texts)]


def test_a_rotating_header_gives_one_rule():
    bodies = [
        title("x"),
        *rotating(3),
        sub_agent("Look", header="99999"),
        sub_agent("Look", "n1", header="88888"),
    ]
    bodies[5]["system"][0]["text"] += " cc_is_subagent=true;"
    made = made_from(bodies)
    assert rows(made) == [("strip-billing-header", "V01", "drop-block", "system[0]", True)]
    (rule,) = made.ruleset.rules
    assert rule.pattern == STRIP
    assert (made.ruleset.profile, made.ruleset.model) == ("vllm-mlx@0.2.6", "qwen2.5")
    assert rule.evidence.requests == 3
    assert rule.evidence.exact
    assert rule.evidence.tokens_saved > 1_000
    assert rule.evidence.seen == tuple(
        f"cc_version=2.1.113.fa9; cc_entrypoint=cli; cch={n:05x};" for n in range(3)
    )
    assert made.notes == {
        "strip-billing-header": "V01 billing header, in 3 requests: "
        f"{rule.evidence.tokens_saved:,} tokens prefilled again.\n"
        "The model no longer sees the header, which means nothing to it."
    }
    assert made.remarks == ()
    assert made.requests == 3


def test_a_header_in_front_of_other_text_is_held():
    bodies = [main(*map(str, range(n)), header=f"{n:05x}") for n in range(3)]
    for each in bodies:
        text = each["system"][0]["text"]
        each["system"] = [{"type": "text", "text": f"{text}{RULES}"}]
    (rule,) = made_from(bodies).ruleset.rules
    assert (rule.action, rule.path, rule.value) == ("replace", "system[0].text", "00000")
    assert rule.pattern == (
        r"\Ax-anthropic-billing-header: cc_version=[0-9A-Za-z_.-]{1,80};"
        r" cc_entrypoint=[0-9A-Za-z_.-]{1,80}; cch=([0-9a-f]{5});"
    )


def test_both_forms_of_the_header_in_one_session_give_both_rules():
    bodies = rotating(2) + [sub_agent("Look", *map(str, range(n))) for n in range(2)]
    for number, each in enumerate(bodies[2:]):
        text = HEADER.format(f"{number:05x}")
        each["system"] = [{"type": "text", "text": f"{text}\n{each['system'][1]['text']}"}]
    made = made_from(bodies)
    assert rows(made) == [
        ("strip-billing-header", "V01", "drop-block", "system[0]", True),
        ("hold-billing-header", "V01", "replace", "system[0].text", True),
    ]
    assert made.ruleset.rules[1].pattern.endswith(r" cch=([0-9a-f]{5});\nYou search the harbour'")
    assert made.notes["hold-billing-header"].endswith(
        "It takes hold-billing-header and strip-billing-header together."
    )


def test_a_header_that_does_not_end_with_a_semicolon():
    bodies = rotating(3)
    for number, each in enumerate(bodies):
        each["system"][0]["text"] = (
            f"x-anthropic-billing-header: cc_version=2.1.19.a9{number}; cc_entrypoint=sdk-cli"
        )
    made = made_from(bodies)
    assert rows(made) == [("strip-billing-header", "V01", "drop-block", "system[0]", True)]


def test_a_backend_that_strips_the_header_needs_no_rule():
    made = made_from(rotating(), "vllm-mlx@0.6.0")
    assert rows(made) == []
    assert made.requests == 0


def test_nothing_is_made_of_a_healthy_session():
    made = made_from([main(), main("t1"), main("t1", "t2")])
    assert (rows(made), made.notes, made.remarks, made.requests) == ([], {}, (), 0)


def test_a_date_that_has_the_block_to_itself_takes_the_block_along():
    made = made_from(with_system(["It is 15:09 h.", "It is 15:11 h.", "It is 16:02 h."]))
    assert rows(made) == [("move-date", "V02", "move-to-end", "system[1]", True)]
    assert made.ruleset.rules[0].pattern == r"\AIt is \d{1,2}:\d{2} h\.\z"
    assert made.notes["move-date"].endswith(
        "The date or time is told at the end of the newest message instead."
    )


def test_what_others_have_in_the_place_of_a_block_stays():
    bodies = with_system(["It is 15:09 h.", "It is 15:11 h."])
    bodies.append(in_system(sub_agent("Look"), "Nothing of the kind."))
    (rule,) = made_from(bodies).ruleset.rules
    made = apply_rules(raw(bodies[2]), "messages", [rule])
    assert made.changes == ()


def test_a_snapshot_is_pinned_by_sections():
    values = ["?? a.md\n", "A  b.txt\n?? a.md\n", "(clean)\n"]
    made = made_from(with_system([STATUS.format(value) for value in values]))
    (rule,) = made.ruleset.rules
    assert (rule.action, rule.pattern) == (
        "pin",
        r"^Status:\n([\s\S]{0,2000}?)\nRecent commits:$",
    )
    assert rule.evidence.seen == tuple(values)


def test_what_the_session_does_not_bear_out_is_not_enabled():
    # A pin holds within a conversation; here it is the next one that is told something else.
    first = in_system(main("t1"), STATUS.format("?? a.md\n"))
    second = in_system(main("t1"), STATUS.format("A  b.txt\n"))
    second["messages"][0]["content"][1]["text"] = "Now draw the tide table."
    second["messages"] = second["messages"][:1]
    made = made_from([first, second])
    assert rows(made) == [("pin-snapshot", "V05", "pin", "system[1].text", False)]
    assert made.notes["pin-snapshot"].endswith(
        "Not enabled. Tried on this session, it did not remove the cause."
    )


def test_text_of_no_known_kind_waits_for_a_person():
    lines = ("Known: asks for tide tables", "Known: keeps a quay plan on paper")
    made = made_from(with_system([f"Be brief.\n{line}\nDo not guess." for line in lines]))
    assert rows(made) == [("move-text", "V06", "move-to-end", "system[1].text", False)]
    assert made.ruleset.rules[0].pattern == r"\ABe brief\.\n(.{1,200})$"
    assert made.notes["move-text"].endswith(
        "Not enabled. Nothing tells what the text is: enable the rule if the model can do with it "
        "so."
    )


def test_what_has_no_rule_is_said_with_what_to_do():
    edited = main("t1")
    edited["messages"][0]["content"][1]["text"] = "Fix the berth plan, and the tide table."
    fewer = copy.deepcopy(edited)
    fewer["tools"] = fewer["tools"][:2]
    fewer["messages"] += main("t1", "t2")["messages"][-2:]
    made = made_from([main(), edited, fewer])
    assert rows(made) == []
    assert [remark.partition(", at ")[0] for remark in made.remarks] == [
        "S04 earlier message edited",
        "S01 tool added or removed",
    ]
    assert all("No rule: none can undo it. What to do: " in remark for remark in made.remarks)
    assert made.foot.startswith("Found as well, and answered by no rule:\n\nS04 earlier ")


def test_what_the_engine_decides_is_told_too():
    made = made_from([main(), main("t1"), main("t1", "t2")], "vllm-mlx@0.4.1")
    assert (rows(made), made.requests) == ([], 0)
    (remark,) = made.remarks
    assert remark.startswith("P06 key takes in the history, in 2 requests: ")
    assert " No rule: the engine decides it, not the text. What to do: " in remark


def test_tools_are_named_by_name():
    bodies = []
    for number in range(3):
        tools = [tool("Read", "Read."), tool("Fetch", f"Get a page. State of 2026-11-2{number}.")]
        made = body(tools=tools if number != 1 else tools[::-1])
        made["messages"] += main(*map(str, range(number)))["messages"][3:]
        bodies.append(made)
    made = made_from(bodies)
    assert rows(made) == [
        ("pin-date", "V02", "pin", "tools[name=Fetch].description", True),
        ("sort-tools", "O01", "sort", "tools", True),
    ]


def test_two_sections_of_one_text_take_their_rules_together():
    values = [("main", "?? a.md\n"), ("tides", "A  b.txt\n"), ("quay", "A  c.txt\n")]
    texts = [
        STATUS.format(status).replace("branch: main", f"branch: {branch}")
        for branch, status in values
    ]
    made = made_from(with_system(texts))
    assert [row[0] for row in rows(made)] == ["pin-snapshot", "pin-snapshot-2"]
    assert made.notes["pin-snapshot"].endswith("It takes pin-snapshot and pin-snapshot-2 together.")
