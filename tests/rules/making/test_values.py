import json

from cachediag.analysis.choice import choose
from cachediag.rules.making.values import (
    Found,
    Saved,
    Spot,
    beside,
    collect,
    compared,
    saved,
    texts_at,
)
from cachediag.session.source import numbered
from tests.analysis.sessions import main, recorded, sub_agent
from tests.compare.bodies import HEADER, body, raw, tool
from tests.rules.trials import choice, rotating

HEADER_SPOT = Spot("messages", "system[0].text", "system", "text")


def found_in(bodies, made=None, endpoints=None):
    source = numbered("made-up", recorded(bodies, endpoints=endpoints))
    return collect(compared(source, made or choice()), Saved())


def test_a_cause_has_all_its_requests_and_texts():
    (found,) = found_in(rotating(4))
    assert (found.code, found.spot, found.requests) == ("V01", HEADER_SPOT, (1, 2, 3))
    (family,) = found.families
    assert family.texts == tuple(HEADER.format(f"{n:05x}") for n in range(4))
    assert [slot.values for slot in family.slots] == [("00000", "00001", "00002", "00003")]


def test_senders_that_share_nothing_have_families_of_their_own():
    bodies = [main(header="aaaa1"), sub_agent("Look", header="bbbb1")]
    bodies += [main("t", header="aaaa2"), sub_agent("Look", "n", header="bbbb2")]
    (found,) = found_in(bodies)
    assert [family.texts for family in found.families] == [
        (HEADER.format("aaaa1"), HEADER.format("aaaa2")),
        (HEADER.format("bbbb1"), HEADER.format("bbbb2")),
    ]


def test_texts_are_taken_as_they_were_sent():
    # This backend deletes the header before it compares anything.
    bodies = []
    for number in range(2):
        made = main(*map(str, range(number)), header=f"{number:05x}")
        text = f"{made['system'][0]['text']}\nRequests: {number}"
        made["system"] = [{"type": "text", "text": text}, made["system"][1]]
        bodies.append(made)
    (found,) = found_in(bodies, choice(profile="vllm-mlx@0.6.0"))
    assert found.code == "V04"
    assert found.families[0].texts[0] == f"{HEADER.format('00000')}\nRequests: 0"


def test_a_tool_has_one_place_wherever_it_stands():
    bodies = []
    for number in range(3):
        tools = [tool("Read", "Read."), tool("Fetch", f"Get a page. State of 2026-11-2{number}.")]
        made = body(tools=tools[:: -1 if number == 1 else 1])
        made["messages"] += main(*map(str, range(number)))["messages"][3:]
        bodies.append(made)
    found = {each.code: each for each in found_in(bodies)}
    assert found["V02"].spot == Spot("messages", "tools[name=Fetch].description", "tools", "tool")
    assert found["V02"].requests == (1, 2)
    assert found["O01"].spot == Spot("messages", "tools")


def test_a_name_that_no_path_can_say_leaves_the_index():
    bodies = [body(tools=[tool("a]b", f"State of 2026-11-2{number}.")]) for number in range(2)]
    bodies[1]["messages"] += main("t")["messages"][3:]
    (found,) = found_in(bodies)
    assert found.spot.path == "tools[0].description"


def test_blocks_that_come_and_go_are_one_cause():
    fewer = main("t")
    fewer["tools"] = fewer["tools"][:1]
    (found,) = found_in([main(), fewer])
    assert (found.code, found.spot, found.families) == ("S01", Spot("messages", "tools"), ())


def test_the_tokens_are_those_that_the_analysis_lays_to_the_cause():
    source = numbered("made-up", recorded(rotating(3)))
    costs = saved(source, choice())
    assert costs.exact
    assert {(index, code) for index, code, _ in costs.tokens} == {(1, "V01"), (2, "V01")}
    (found,) = collect(compared(source, choice()), costs)
    assert found.tokens_lost == sum(costs.tokens.values())
    assert found.exact
    assert not saved(source, choose("messages")).exact


def test_what_costs_besides_the_breaks():
    # This release's key takes in the history, so that a conversation never finds its own.
    source = numbered("made-up", recorded([main(), main("t1"), main("t1", "t2")]))
    costs = saved(source, choice(profile="vllm-mlx@0.4.1"))
    (other,) = beside(costs, ())
    assert (other.code, other.requests) == ("P06", (1, 2))
    assert other.tokens_lost == sum(costs.tokens.values()) > 0
    assert beside(costs, [Found("P06", HEADER_SPOT, (1,))]) == ()


def test_all_texts_at_a_place():
    bodies = [*rotating(2), sub_agent("Look", header="00000")]
    chat = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
    exchanges = recorded([*map(raw, bodies), chat, b"no JSON"], endpoints={3: "chat"})
    source = numbered("made-up", exchanges)
    assert texts_at(source.exchanges(), [HEADER_SPOT]) == {
        HEADER_SPOT: {HEADER.format("00000"): [0, 2], HEADER.format("00001"): [1]}
    }
