"""What a rule file does to a session, and when it is refused."""

from dataclasses import replace

import pytest

from cachediag.analysis.analyze import analyse
from cachediag.analysis.choice import choose
from cachediag.errors import InputError
from cachediag.rules.check import check
from cachediag.rules.checking.told import Told
from cachediag.rules.rule import Rule, RuleSet
from tests.analysis.sessions import main, recorded, sub_agent, title
from tests.compare.bodies import RULES, raw
from tests.rules.trials import CCH, DROP, choice, in_system, refused, rotating, steady, tried

NOW = Rule(
    "clock", "V02", "move-to-end", "messages", "system[1].text", pattern=r"^(Now: [^\n]{1,40})"
)


def test_a_rotating_header_is_dropped_and_each_request_reaches_its_parents_end():
    bodies = rotating()
    checked = tried(bodies, DROP)
    (rule,) = checked.rules
    size = len(raw(bodies[0]["system"][0]))
    assert (rule.requests, rule.places, rule.size) == (4, 4, 4 * size)
    told = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch=…;"
    assert rule.told == (Told(told, "", 4),)
    (lane,) = checked.lanes
    assert (lane.lane, lane.requests, lane.whole) == ("main", 3, (0, 3))
    assert checked.safe
    assert checked.warnings == ()
    assert (checked.requests, checked.touched, checked.unread) == (4, 4, 0)
    assert checked.exact


def test_tokens_saved_are_those_that_a_session_without_the_cause_does_not_prefill_again():
    bodies = rotating()
    clean = [{**made, "system": made["system"][1:]} for made in bodies]

    def counted(played):
        exchanges = recorded(played)
        return list(analyse(exchanges, exchanges.__getitem__, choice()))

    was, would = counted(bodies), counted(clean)
    again = [
        (x.prompt_tokens - x.shared_tokens) - (y.prompt_tokens - y.shared_tokens)
        for x, y in zip(was[1:], would[1:], strict=True)
    ]
    checked = tried(bodies, DROP)
    assert checked.rules[0].tokens_saved == checked.rules[0].tokens_added == sum(again) > 0
    assert checked.shared_tokens == (
        sum(each.shared_tokens for each in was),
        sum(each.shared_tokens for each in would),
    )
    assert checked.caches[0].prompt_tokens == (
        sum(each.prompt_tokens for each in was),
        sum(each.prompt_tokens for each in would),
    )


def test_an_engine_without_a_cache_is_told_beside_one_that_keeps_prompts():
    none, kept = tried(rotating(), DROP).caches
    assert (none.engine, none.hit_rates) == ("none", (0.0, 0.0))
    assert kept.engine == "conversation-slots:slots=4"
    assert kept.hit_rates[0] < 0.1
    assert kept.hit_rates[1] > 0.6


def test_the_chosen_engine_is_played():
    (cache,) = tried(rotating(), DROP, engine="sglang").caches
    assert cache.engine == "sglang"
    assert cache.hit_rates[1] > 0.6


def test_each_lane_is_told_apart_and_requests_that_prefill_nothing_are_passed_over():
    task = "Find the berth plan."
    bodies = [
        title("Fix the berth plan."),
        main(header="00001"),
        main("go on", header="00002"),
        sub_agent(task, header="00003"),
        sub_agent(task, "found", header="00004"),
    ]
    exchanges = recorded([*bodies, bodies[2]], endpoints={5: "count_tokens"})
    checked = check(exchanges, RuleSet((DROP,)), choice())
    assert [(lane.lane, lane.requests, lane.whole) for lane in checked.lanes] == [
        ("main", 1, (0, 1)),
        ("agent", 1, (0, 1)),
    ]
    assert (checked.requests, checked.touched) == (5, 4)


def test_a_body_that_is_no_json_is_counted_and_left_alone():
    checked = tried([*rotating(), b"{not json"], DROP)
    assert (checked.requests, checked.unread, checked.safe) == (4, 1, True)


def test_a_disabled_rule_is_listed_and_not_applied():
    checked = tried(rotating(), replace(DROP, enabled=False))
    assert checked.touched == 0
    assert [each.rule.id for each in checked.rules] == ["strip-header"]
    assert checked.rules[0].requests == 0
    assert checked.safe
    assert checked.warnings == ()


def test_two_causes_count_alone_and_beside_one_another():
    bodies = [in_system(made, f"Now: 2026-11-29 12:0{n}") for n, made in enumerate(rotating())]
    checked = tried(bodies, DROP, NOW)
    header, clock = checked.rules
    assert checked.safe
    # Behind the header nothing is shared, whatever the clock says; moved, it takes a line end.
    assert clock.tokens_saved == -4
    assert clock.tokens_added > 1_000
    assert header.tokens_added > header.tokens_saved
    assert checked.warnings == ()
    # This backend puts a text before the tool result that it stands behind.
    assert checked.lanes[0].whole == (0, 2)
    assert clock.told == (Told("Now: 2026-11-29 12:…", "Now: 2026-11-29 12:…", 4),)


def test_a_rule_that_changes_nothing_is_a_warning():
    checked = tried(rotating(), DROP, replace(NOW, id="late", path="system[7].text"))
    assert checked.safe
    assert [(found.reason, found.rules) for found in checked.warnings] == [
        ("never-fires", ("late",))
    ]


def test_a_rule_that_saves_nothing_is_a_warning():
    checked = tried(steady(), DROP)
    assert checked.rules[0].tokens_saved == 0
    assert checked.safe
    assert [(found.reason, found.rules) for found in checked.warnings] == [
        ("saves-nothing", ("strip-header",))
    ]


def test_a_rule_that_moves_what_stands_still_lowers_the_reuse():
    checked = tried(steady("Now: 2026-11-29\n" + RULES), NOW)
    assert refused(checked) == [("lowers-reuse", ("clock",))]
    assert checked.rules[0].tokens_saved < 0
    (found,) = checked.refusals
    assert f"{-checked.rules[0].tokens_saved:,} tokens more" in found.message


def test_the_rule_that_lowers_the_reuse_is_found_among_others_that_raise_it():
    bodies = [in_system(made, "Now: 2026-11-29\n" + RULES) for made in rotating()]
    checked = tried(bodies, DROP, NOW)
    assert checked.shared_tokens[1] > checked.shared_tokens[0]
    assert refused(checked) == [("lowers-reuse", ("clock",))]


QUOTED = "x-anthropic-billing-header: cc_version=1; cch=6c09a; stands in my log"


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": QUOTED},
        {"role": "user", "content": [{"type": "text", "text": QUOTED}]},
        {"role": "assistant", "content": [{"type": "text", "text": QUOTED}]},
    ],
)
def test_a_rule_that_matches_what_a_user_or_the_model_wrote_is_refused(message, flag):
    path = "messages[*].content" + ("[*].text" if isinstance(message["content"], list) else "")
    loose = replace(
        CCH, id="loose", path=path, pattern="^x-anthropic-billing-header:", messages=flag
    )
    bodies = rotating()
    bodies[2]["messages"].append(message)
    checked = tried(bodies, DROP, loose)
    assert refused(checked) == [("likeness", ("loose",))]
    (found,) = checked.refusals
    assert found.request == 2
    last = len(bodies[2]["messages"]) - 1
    assert found.path == path.replace("[*]", f"[{last}]", 1).replace("[*]", "[0]")


def test_a_tools_result_is_no_place_for_a_rule():
    loose = replace(
        CCH,
        id="loose",
        path="messages[*].content[*].content",
        pattern="^x-anthropic-billing-header:",
        messages=True,
    )
    bodies = rotating()
    bodies[1]["messages"][2]["content"][0]["content"] = QUOTED
    assert refused(tried(bodies, loose)) == [("likeness", ("loose",))]


def test_the_users_quote_does_not_speak_against_a_rule_for_the_system_prompt():
    bodies = rotating()
    for made in bodies:
        made["messages"][0]["content"][1]["text"] = QUOTED
    assert tried(bodies, DROP).safe


def test_what_the_client_puts_around_the_users_words_may_be_changed_where_it_was_allowed():
    rule = Rule(
        "date",
        "V02",
        "pin",
        "messages",
        "messages[0].content[0].text",
        pattern=r"^The date is ([-0-9]{10})",
        messages=True,
    )
    bodies = steady()
    for n, made in enumerate(bodies):
        text = made["messages"][0]["content"][0]
        text["text"] = text["text"].replace("-29", f"-{27 + n}")
    checked = tried(bodies, rule)
    assert checked.safe
    assert checked.rules[0].requests == 2
    # Unless it was allowed, the rule does nothing, and is told to match what is not the client's.
    assert refused(tried(bodies, replace(rule, messages=False))) == [("likeness", ("date",))]


def test_rules_that_change_the_same_bytes_are_refused_together():
    checked = tried(rotating(), DROP, CCH)
    assert refused(checked) == [("meets", ("strip-header", "still-cch"))]
    other = replace(CCH, id="other", value="11111")
    assert ("meets", ("still-cch", "other")) in refused(tried(rotating(), CCH, other))


def test_rules_that_stand_side_by_side_in_one_text_do_not_meet():
    version = replace(
        CCH, id="version", pattern=r"\Ax-anthropic-billing-header: cc_version=([0-9.a-f]{1,20});"
    )
    checked = tried(rotating(), replace(version, value="2.1.113"), CCH)
    assert checked.safe


def test_rules_that_undo_each_other_are_refused_together():
    one = Rule("one", "V06", "replace", "messages", "system[1].text", r"\A(cold)", "warm")
    two = replace(one, id="two", pattern=r"\A(warm)", value="cold")
    bodies = [
        in_system(main(*map(str, range(n))), ("cold", "warm")[n % 2] + " as ever") for n in range(4)
    ]
    assert ("undoes", ("one", "two")) in refused(tried(bodies, one, two))


def test_a_rule_that_matches_what_it_leaves_is_refused():
    rule = Rule("eater", "V06", "replace", "messages", "system[1].text", r"\A(x)x", "")
    bodies = [in_system(made, "xxxx" + "y" * n) for n, made in enumerate(steady())]
    assert ("repeats", ("eater",)) in refused(tried(bodies, rule))


def test_a_header_rule_that_takes_other_text_is_refused():
    rule = replace(DROP, path="system[1]", pattern=r"\ARule A[\s\S]{1,2000}\z")
    checked = tried(rotating(), rule)
    assert ("purpose", ("strip-header",)) in refused(checked)
    longer = replace(CCH, pattern=r"\Ax-anthropic-billing-header: [ -~]{1,200};\n(You[^\n]{1,80})")
    bodies = rotating()
    for made in bodies:
        made["system"][0]["text"] += "\nYou are a made-up agent."
    (found,) = [f for f in tried(bodies, longer).refusals if f.reason == "purpose"]
    assert found.message == "changes text that is no billing header"
    assert (found.request, found.path) == (0, "system[0].text")


def test_a_block_that_never_changes_is_not_to_be_dropped():
    rule = Rule("gone", "V06", "drop-block", "messages", "system[1]", r"\AMind the tide\.\z")
    assert refused(tried(steady("Mind the tide."), rule)) == [("purpose", ("gone",))]


def test_a_rule_for_dates_that_moves_text_without_one_is_refused():
    rule = replace(NOW, pattern=r"^(Mind [^\n]{1,40})")
    bodies = [
        in_system(made, f"Mind {word} tide")
        for made, word in zip(steady(), ("the", "a", "no"), strict=True)
    ]
    assert refused(tried(bodies, rule)) == [("purpose", ("clock",))]


class Strict:
    """A backend that wants a system prompt that begins with the header."""

    def __init__(self, profile):
        self.name = profile.name
        self.arrange = profile.arrange
        self._render = profile.render

    def render(self, prompt):
        if b"billing" not in prompt.body:
            raise InputError("no header")
        return self._render(prompt)


def test_a_request_that_the_backend_refuses_once_rules_are_applied_refuses_them():
    played = choice()
    played.counter.profile = Strict(played.counter.profile)
    checked = check(recorded(rotating()), RuleSet((DROP,)), played)
    assert ("unreadable", ("strip-header",)) in refused(checked)
    assert "no header" in checked.refusals[0].message


def test_rules_of_another_protocol_change_nothing():
    checked = tried(rotating(), replace(DROP, protocol="chat"))
    assert checked.touched == 0
    assert [found.reason for found in checked.warnings] == ["never-fires"]


def test_a_session_without_requests_is_safe_and_empty():
    checked = tried([], DROP)
    assert (checked.requests, checked.safe) == (0, True)
    assert checked.caches[0].hit_rates == (0.0, 0.0)


def test_a_hosted_cache_saves_what_it_reuses():
    bodies = rotating()
    # Long enough to be cached at all.
    for made in bodies:
        made["system"][1]["text"] = "\n".join(f"{n}. {RULES}" for n in range(80))
    played = choose("messages", profile_spec="anthropic")
    checked = check(recorded(bodies), RuleSet((DROP,)), played)
    (cache,) = checked.caches
    # The system block is the only one that is marked; the tools before it were shared before.
    assert cache.reused_tokens[0] == 0
    rule = checked.rules[0]
    assert rule.tokens_saved == rule.reuse_gained
    # What was taken out is not found either.
    assert 0 <= rule.tokens_saved - cache.reused_tokens[1] < 3 * 60


def chat(n):
    """A chat request whose system message, the first, tells the time."""
    talk = [{"role": "system", "content": f"Now: 2026-11-29 12:0{n}\n{RULES}"}]
    for turn in range(n + 1):
        talk += [{"role": "user", "content": f"Question {turn}"}]
        talk += [{"role": "assistant", "content": f"Answer {turn}"}] if turn < n else []
    return {"model": "made-up", "messages": talk}


def test_the_leading_system_message_of_a_chat_is_no_text_of_the_users():
    rule = replace(
        NOW, protocol="chat", path="messages[0].content", pattern=r"^(Now: [^\n]{1,40}\n)"
    )
    exchanges = recorded([chat(n) for n in range(4)], endpoints=dict.fromkeys(range(4), "chat"))
    played = choose("chat", profile_spec="mlx-lm", model_spec="qwen2.5")
    checked = check(exchanges, RuleSet((rule,)), played)
    assert checked.safe
    assert checked.warnings == ()
    assert checked.touched == 4
    assert checked.rules[0].tokens_saved > 300
    # All but the line that stands at the end of the parent.
    assert checked.lanes[0].whole == (0, 3)
    loose = replace(rule, path="messages[*].content", pattern=r"^(Question)", finding="V06")
    assert refused(check(exchanges, RuleSet((loose,)), played.anew()))[0] == (
        "likeness",
        ("clock",),
    )


def test_instructions_of_a_responses_request():
    def request(n):
        items = [{"role": "user", "content": f"Question {turn}"} for turn in range(n + 1)]
        return {"model": "m", "instructions": f"Id: a1b2c{n}\n{RULES}", "input": items}

    rule = Rule("id", "V03", "pin", "responses", "instructions", r"^Id: ([a-z0-9]{6})")
    exchanges = recorded(
        [request(n) for n in range(3)], endpoints=dict.fromkeys(range(3), "responses")
    )
    checked = check(exchanges, RuleSet((rule,)), choose("responses", model_spec="qwen2.5"))
    assert checked.safe
    assert checked.rules[0].requests == 2
    assert checked.rules[0].told == (Told("…", "a1b2c0", 2),)
    assert checked.lanes[0].whole == (0, 2)
