from cachediag.rules.making.proposals.proposed import Proposed
from cachediag.rules.making.proving import proved
from cachediag.rules.making.values import Found, Spot
from cachediag.rules.rule import Rule
from cachediag.session.source import numbered
from tests.analysis.sessions import main, recorded
from tests.rules.trials import CCH, DROP, choice, in_system, rotating

V01 = Found("V01", Spot("messages", "system[0].text", "system", "text"), (1, 2, 3))


def tried(bodies, *proposals):
    source = numbered("made-up", recorded(bodies))
    return proved(proposals, source, choice())


def test_a_rule_that_removes_its_cause_stays_as_it_is():
    proposal = Proposed(DROP, "Gone.", (V01,))
    assert tried(rotating(), proposal) == (proposal,)


def test_a_rule_that_leaves_its_cause_is_disabled():
    rule = Rule("r", "V01", "drop-block", "messages", "system[0]", pattern=r"\Anothing\z")
    (made,) = tried(rotating(), Proposed(rule, "Gone.", (V01,)))
    assert not made.rule.enabled
    assert made.caution == "Tried on this session, it did not remove the cause"


def test_a_rule_for_a_person_that_does_nothing_is_left_out():
    rule = Rule("r", "V01", "replace", "messages", "messages[0].content[1].text", enabled=False)
    assert tried(rotating(), Proposed(rule, "Gone.", (V01,), caution="Look.")) == ()


def test_what_is_left_is_told():
    pattern = r"\Ax-anthropic-billing-header: [ -~]{1,80}; cch=0000[01];\z"
    rule = Rule("r", "V01", "drop-block", "messages", "system[0]", pattern=pattern)
    (made,) = tried(rotating(), Proposed(rule, "Gone.", (V01,)))
    assert made.rule.enabled
    assert made.effect == "Gone. It still shows in 1 of 3 requests."


def test_a_block_that_goes_hides_no_cause_behind_it():
    bodies = [in_system(made, f"Run {n}.") for n, made in enumerate(rotating())]
    never = Rule("never", "V04", "pin", "messages", "system[1].text", pattern=r"^No (\d)$")
    count = Found("V04", Spot("messages", "system[1].text", "system", "text"), (1, 2, 3))
    dropped, pinned = tried(
        bodies, Proposed(DROP, "Gone.", (V01,)), Proposed(never, "Still.", (count,))
    )
    assert dropped.rule.enabled
    assert not pinned.rule.enabled


def test_what_a_check_refuses_is_disabled():
    # Two that change the same bytes cannot both be applied.
    dropped, held = tried(
        rotating(), Proposed(DROP, "Gone.", (V01,)), Proposed(CCH, "Still.", (V01,))
    )
    assert not dropped.rule.enabled
    assert not held.rule.enabled
    assert dropped.caution.startswith("A check refuses it: strip-header and still-cch change the")


def test_requests_that_cannot_be_read_are_passed_over():
    bodies = [*rotating(), b"no JSON"]
    proposal = Proposed(DROP, "Gone.", (V01,))
    assert tried(bodies, proposal) == (proposal,)


def test_a_pin_is_tried_as_the_requests_came():
    bodies = [in_system(main(*map(str, range(n))), f"Trace: {n}c09a7{n}.") for n in range(3)]
    rule = Rule(
        "r", "V03", "pin", "messages", "system[1].text", pattern=r"\ATrace: ([0-9a-f]{7})\.\z"
    )
    found = Found("V03", Spot("messages", "system[1].text", "system", "text"), (1, 2))
    proposal = Proposed(rule, "Still.", (found,))
    assert tried(bodies, proposal) == (proposal,)
