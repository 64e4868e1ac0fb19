"""From the findings of a session to the switches of the client that sent it."""

from dataclasses import replace

from cachediag.analysis.analyze import analyse
from cachediag.analysis.choice import choose
from cachediag.fix.offers import Unanswered, offers
from cachediag.model import Usage
from tests.analysis.sessions import main, recorded, title

CLAUDE = {"user-agent": "claude-cli/2.1.113 (external, cli)"}
ROTATING = [main(header="aaaa1"), main("t1", header="aaaa2"), main("t1", "t2", header="aaaa3")]


def offered(bodies, profile="vllm-mlx@0.2.6", engine=None, agent=CLAUDE, times=None):
    exchanges = recorded(bodies, headers=dict.fromkeys(range(len(bodies)), agent))
    for index, started in (times or {}).items():
        info = replace(
            exchanges[index].info,
            started=started,
            first_byte=started + 1,
            ended=started + 2,
            usage=Usage(input_tokens=1),
        )
        exchanges[index] = replace(exchanges[index], info=info)
    choice = choose("messages", profile_spec=profile, model_spec="qwen2.5", engine_spec=engine)
    found = analyse(exchanges, exchanges.__getitem__, choice)
    return offers(found, exchanges.__getitem__)


def assigned(found):
    return [(f"{o.switch.name}={o.switch.value}", o.codes, o.requests) for o in found.offers]


HEADER_OFF = "CLAUDE_CODE_ATTRIBUTION_HEADER=0"


def test_a_rotating_header_is_answered():
    found = offered(ROTATING)
    assert assigned(found) == [(HEADER_OFF, ("V01",), 2)]
    assert found.offers[0].tokens > 500
    assert found.exact
    assert [(str(sender), number) for sender, number in found.senders] == [
        ("Claude Code 2.1.113", 3)
    ]
    assert (found.open, found.unknown) == ((), ())


def test_hosted_tokens_are_an_estimate():
    assert not offered(ROTATING, "anthropic").exact


def test_a_backend_that_removes_it_itself_needs_no_switch():
    assert assigned(offered(ROTATING, "vllm-mlx@0.6.0", "sglang")) == []


def test_another_client_has_no_switch_of_claude_code():
    found = offered(ROTATING, agent={"user-agent": "litellm/1.83"})
    assert assigned(found) == []
    assert found.unknown == (("litellm/1.83", 3),)
    assert found.open == (
        Unanswered(code="V01", requests=2, reason="the switches of this client are not known"),
    )


def with_status(status, *turns):
    made = main(*turns)
    made["system"][1]["text"] += f"\n\ngitStatus: at the start\n\nStatus:\n M {status}"
    return made


SNAPSHOTS = [with_status("a.py"), with_status("b.py", "t1")]


def test_a_changed_git_status_is_answered_with_the_marker_on_it():
    found = offered(SNAPSHOTS, "anthropic")
    git = "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1"
    assert assigned(found) == [(git, ("V05", "M06"), 1)]


def test_an_older_release_has_no_switch_for_it():
    found = offered(SNAPSHOTS, agent={"user-agent": "claude-cli/2.1.54 (external, cli)"})
    assert assigned(found) == []
    reason = "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS needs Claude Code 2.1.78 or newer"
    assert {each.reason for each in found.open} == {reason}


def test_what_no_switch_removes_is_told():
    edited = main("t1")
    edited["messages"][0]["content"][1]["text"] = "Fix the tide table."
    found = offered([main(), edited])
    assert assigned(found) == []
    assert [(each.code, each.reason) for each in found.open] == [
        ("S04", "no switch of Claude Code is known for this")
    ]


def test_a_title_that_takes_the_only_slot():
    one_slot = "system-slots:slots=1"
    found = offered([main(), title("Fix the berth plan."), main("t1")], "vllm-mlx@0.6.0", one_slot)
    assert assigned(found) == [("CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1", ("P01",), 1)]
    assert found.offers[0].tokens > 100


def test_a_pause_that_is_longer_than_the_entry_lives():
    first, second = main(), main("t1")
    for made in (first, second):
        made["model"] = "claude-opus-4-8"
        made["system"][1]["text"] *= 60
    found = offered([first, second], "anthropic", times={0: 0.0, 1: 600.0})
    assert [row[:2] for row in assigned(found)] == [("ENABLE_PROMPT_CACHING_1H=1", ("M05",))]


def test_a_body_that_cannot_be_read_plays_no_part():
    found = offered([*ROTATING, b'{"cut'])
    assert assigned(found) == [(HEADER_OFF, ("V01",), 2)]
    assert sum(number for _, number in found.senders) == 3


def test_nothing_found():
    found = offered([main(), main("t1")], "vllm-mlx@0.6.0", "sglang")
    assert (found.offers, found.open) == ((), ())
