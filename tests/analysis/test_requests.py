import pytest

from tests.analysis.sessions import broken, main, recorded, sub_agent, title, walked
from tests.compare.bodies import RULES, tool


def _session(headers=None):
    return walked(
        recorded(
            [
                title("Fix the berth plan."),
                main(header="aaaa1"),
                main("t1", header="aaaa2"),
                sub_agent("Look north", header="aaaa3"),
                sub_agent("Look south", header="aaaa4"),
                sub_agent("Look south", "s1", header="aaaa5"),
                main("t1", "t2", header="aaaa6"),
                sub_agent("Look north", "n1", header="aaaa7"),
                title("Now the tide table."),
                main("t1", "t2", "t3", header="aaaa8"),
            ],
            headers,
        )
    )


def test_lanes_are_told_apart_without_headers():
    assert [(r.lane, r.kind, r.latest) for r in _session()] == [
        ("title", "auxiliary", None),
        ("main", "turn", None),
        ("main", "turn", 1),
        ("agent", "subagent", None),
        ("agent-2", "subagent", None),
        ("agent-2", "subagent", 4),
        ("main", "turn", 2),
        ("agent", "subagent", 3),
        ("title", "auxiliary", 0),
        ("main", "turn", 6),
    ]


def test_lanes_are_told_apart_by_the_clients_headers():
    session = {"x-claude-code-session-id": "s"}
    agents = {3: "n", 7: "n", 4: "s", 5: "s"}
    headers = {
        n: session | ({"x-claude-code-agent-id": agents[n]} if n in agents else {})
        for n in range(10)
    }
    with_headers = [(r.lane, r.kind, r.latest) for r in _session(headers)]
    assert with_headers == [(r.lane, r.kind, r.latest) for r in _session()]


def test_a_rotating_header_breaks_every_later_request_and_none_is_called_cold():
    found = _session()
    header = [("V01", "system[0].text")]
    assert [broken(r) for r in found] == [
        [], [], header, [], header, header, header, header, [], header,
    ]  # fmt: skip
    assert [r.parent for r in found] == [None, None, 1, None, 3, 4, 2, 3, 0, 6]
    firsts = [r.info.index for r in found if any(f.code == "N03" for f in r.findings)]
    assert firsts == [0, 1, 3, 4, 8]


def test_two_sub_agents_with_the_same_task_do_not_blame_each_other():
    found = walked(
        recorded(
            [
                main(),
                sub_agent("Look", header="6c09a"),
                sub_agent("Look", header="6c09a"),
                sub_agent("Look", "first", header="6c09a"),
                sub_agent("Look", "second", header="6c09a"),
                sub_agent("Look", "first", "more", header="6c09a"),
            ]
        )
    )
    assert [broken(r) for r in found] == [[]] * 6
    assert found[5].parent == 3


def test_a_new_conversation_of_the_same_client_is_a_lane_of_its_own():
    other = main(messages=[{"role": "user", "content": "Paint the quay."}])
    found = walked(recorded([main(), main("t1"), other]))
    assert [(r.lane, broken(r)) for r in found] == [("main", []), ("main", []), ("main-2", [])]
    assert [f.code for f in found[2].findings] == ["N03"]
    assert found[2].comparison is not None
    assert found[2].comparison.shared_blocks == 5


def test_a_break_behind_an_older_parent_is_reported_too():
    fewer = [tool("Bash", "Run a command."), tool("Grep", "Search file contents.")]
    found = walked(recorded([main(), main("t1", tools=fewer), main("t1", "t2")]))
    assert found[2].parent == 0
    assert found[2].latest == 1
    assert broken(found[2]) == [("S01", "tools[2]")]
    assert found[2].against_latest is not None


def test_compaction_is_an_edit_of_the_lane_and_not_a_new_talk():
    talk = [f"turn number {n} of the talk" for n in range(6)]
    compacted = main(
        messages=[
            {
                "role": "user",
                "content": "This is a summary of the conversation so far: the plan was fixed.",
            }
        ]
    )
    found = walked(recorded([main(*talk[:5]), main(*talk), compacted]))
    assert [r.lane for r in found] == ["main", "main", "main"]
    assert broken(found[2]) == [("S05", "messages")]


def test_tools_that_are_all_gone_are_told_though_no_prefix_is_shared():
    found = walked(recorded([main(), main("t1", tools=[])]))
    assert found[1].parent == 0
    assert ("S01", "tools") in broken(found[1])
    assert "N03" not in {finding.code for finding in found[1].findings}


def test_another_agents_tools_are_no_fault():
    found = walked(recorded([main(), sub_agent("Look", header="6c09a")]))
    assert [f.code for f in found[1].findings] == ["N03"]
    assert found[1].comparison is None


def test_counting_tokens_prefills_nothing_and_is_no_parent():
    found = walked(recorded([main(), main("t1"), main("t1")], endpoints={1: "count_tokens"}))
    assert [(r.lane, r.kind, r.parent) for r in found] == [
        ("main", "turn", None),
        ("count", "count", None),
        ("main", "turn", 0),
    ]


def test_a_body_that_cannot_be_read_is_told_and_the_rest_goes_on():
    found = walked(recorded([main(), b'{"messages": [', main("t1")]))
    assert found[1].problem == "JSON ends too early (line 1, column 15)"
    assert (found[2].parent, broken(found[2])) == (0, [])


def test_other_endpoints_are_passed_over():
    found = walked(recorded([b"GET", main()], endpoints={0: "other"}))
    assert [r.info.index for r in found] == [1]


def test_an_old_parent_is_read_again():
    others = [main(messages=[{"role": "user", "content": f"Task {n}?" * 3}]) for n in range(40)]
    found = walked(recorded([main(), *others, main("t1")]))
    assert found[-1].parent == 0
    assert broken(found[-1]) == []


@pytest.mark.parametrize("kind", ["main", "subagent", "auxiliary", "compaction"])
def test_what_the_client_says_it_is_wins(kind):
    found = walked(recorded([main()], {0: {"x-claude-code-request-class": kind}}))
    assert found[0].kind == ("turn" if kind == "main" else kind)


def test_a_talk_without_tools_is_the_main_lane():
    chat = main(tools=[], system=[{"type": "text", "text": RULES}])
    longer = main("t1", tools=[], system=[{"type": "text", "text": RULES}])
    found = walked(recorded([chat, longer]))
    assert [(r.lane, r.kind, broken(r)) for r in found] == [
        ("main", "turn", []),
        ("main", "turn", []),
    ]


def _opened_alike(task: str, *turns: str):
    """A client that opens every conversation with the same two messages."""
    canned = [
        {"role": "user", "content": "This is the harbour's helper. Mind the rules."},
        {"role": "assistant", "content": "Understood."},
    ]
    made = main(messages=[*canned, {"role": "user", "content": task}])
    for turn in turns:
        made["messages"] += [
            {"role": "assistant", "content": f"Reply to {turn}"},
            {"role": "user", "content": turn},
        ]
    return made


def test_conversations_that_open_with_the_same_words_are_told_apart():
    found = walked(
        recorded(
            [
                _opened_alike("Fix the plan."),
                _opened_alike("Fix the plan.", "a"),
                _opened_alike("Paint the quay."),
                _opened_alike("Paint the quay.", "b"),
            ]
        )
    )
    assert [(r.lane, broken(r)) for r in found] == [
        ("main", []),
        ("main", []),
        ("main-2", []),
        ("main-2", []),
    ]


def test_an_agent_with_one_standing_task_has_a_talk_for_each_history():
    def memory(task):
        made = sub_agent("x")
        history = _opened_alike(task, "more")["messages"]
        made["messages"] = [*history, {"role": "user", "content": "Note what is worth keeping."}]
        return made

    found = walked(recorded([main(), memory("Fix the plan."), memory("Paint the quay.")]))
    assert [broken(r) for r in found] == [[], [], []]
    assert [r.lane for r in found] == ["main", "agent", "agent-2"]


def test_who_asks_for_a_summary_of_the_talk_compacts_it():
    asked = sub_agent("x")
    asked["messages"] = [
        *main("t1")["messages"],
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Write a summary of all this."},
    ]
    assert walked(recorded([main("t1"), asked]))[1].kind == "compaction"
