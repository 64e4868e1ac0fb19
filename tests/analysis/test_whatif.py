from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.choice import choose
from cachediag.analysis.whatif import removable, what_if, without_causes
from tests.analysis.sessions import broken, main, recorded, sub_agent, walked
from tests.compare.bodies import body

SESSION = [
    main(header="aaaa1"),
    sub_agent("Look", header="aaaa2"),
    main("t1", header="aaaa3"),
    sub_agent("Look", "n1", header="aaaa4"),
    main("t1", "t2", header="aaaa5"),
]


def _choose(spec):
    return choose("messages", profile_spec=spec, model_spec="qwen2.5")


def _arms(bodies, spec="vllm-mlx@0.2.6"):
    exchanges = recorded(bodies)
    choice = _choose(spec)
    made = summarise(analyse(exchanges, exchanges.__getitem__, choice), choice)
    return {arm.name: arm for arm in what_if(exchanges, exchanges.__getitem__, made, choice)}


def test_neither_rule_nor_cache_helps_alone_and_both_do():
    arms = _arms(SESSION)
    assert list(arms) == [
        "as recorded",
        "causes removed",
        "1 slot, as recorded",
        "1 slot, causes removed",
        "4 slots, as recorded",
        "4 slots, causes removed",
    ]
    rates = {name: arm.hit_rate for name, arm in arms.items()}
    assert rates["as recorded"] == rates["causes removed"] == 0
    assert rates["4 slots, as recorded"] < 0.1
    # The sub-agent takes the one slot in turn.
    assert rates["1 slot, causes removed"] < 0.1 < rates["4 slots, causes removed"]
    assert arms["4 slots, causes removed"].warm_turn < arms["as recorded"].warm_turn / 5


def test_a_healthy_session_has_no_causes_to_remove():
    arms = _arms([main(), main("t1")])
    assert "causes removed" not in arms


def test_a_value_that_rotates_stays_what_it_was_at_first():
    exchanges = recorded(SESSION)
    choice = _choose("vllm-mlx@0.2.6")
    clean = list(without_causes(exchanges, exchanges.__getitem__, choice))
    assert [broken(request) for request in walked(clean)] == [[]] * 5
    assert [b"cch=aaaa1;" in each.request for each in clean] == [True, False, True, False, True]
    assert [b"cch=aaaa2;" in each.request for each in clean] == [False, True, False, True, False]
    assert all(b'"cache_control"' in each.request for each in clean)


def test_what_a_person_or_a_client_meant_is_left_alone():
    edited = body()
    edited["messages"][0]["content"][1]["text"] = "Write the docs instead."
    exchanges = recorded([body(), edited])
    clean = list(without_causes(exchanges, exchanges.__getitem__, _choose("anthropic")))
    assert [each.request for each in clean] == [each.request for each in exchanges]
    assert not removable("S04")
    assert removable("V06")
