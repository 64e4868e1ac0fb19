import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.choice import choose, default_engine
from cachediag.errors import UsageError
from cachediag.model import Usage
from tests.analysis.replies import ANSWER, ASK, MORE, THOUGHT, chat, played, said
from tests.analysis.sessions import main, recorded, reporting, sub_agent, title

SESSION = [
    title("Fix the berth plan."),
    main(header="aaaa1"),
    main("t1", header="aaaa2"),
    sub_agent("Look north", header="aaaa3"),
    sub_agent("Look north", "n1", header="aaaa4"),
    main("t1", "t2", header="aaaa5"),
]


def _analysis(bodies, spec, engine=None, rate=None, **rest):
    exchanges = recorded(bodies, **rest)
    choice = choose("messages", profile_spec=spec, model_spec="qwen2.5", engine_spec=engine)
    found = analyse(exchanges, exchanges.__getitem__, choice)
    return summarise(found, choice, rate)


def test_each_prompt_is_reused_avoidable_or_new():
    made = _analysis(SESSION, "vllm-mlx@0.2.6")
    for request in made.requests:
        assert request.prompt_tokens > 0
        assert min(request.reused_tokens, request.avoidable_tokens, request.new_tokens) >= 0
        assert sum(tokens for *_, tokens in request.blamed) == request.avoidable_tokens
    assert made.exact
    assert made.avoidable_tokens == sum(cause.tokens_lost for cause in made.causes)


def test_a_rotating_header_is_the_cause():
    made = _analysis(SESSION, "vllm-mlx@0.2.6", "sglang")
    cause = made.causes[0]
    assert (cause.code, cause.path, cause.requests) == ("V01", "system[0].text", 3)
    broken = [r for r in made.requests if r.findings and r.findings[0].code == "V01"]
    assert [r.info.index for r in broken] == [2, 4, 5]
    for request in broken:
        parent = made.requests[request.parent]
        assert request.shared_tokens < 60
        assert request.reused_tokens + request.avoidable_tokens == parent.prompt_tokens
        assert request.findings[0].tokens_lost == parent.prompt_tokens - request.shared_tokens


def test_without_the_header_an_unlimited_tree_reuses_all_that_was_seen():
    made = _analysis(SESSION, "vllm-mlx@0.6.0", "sglang")
    assert [r.reused_tokens for r in made.requests] == [r.shared_tokens for r in made.requests]
    assert made.causes == ()
    assert made.avoidable_tokens == 0
    assert made.hit_rate == made.hit_rate_ceiling > 0.4


def test_an_engine_that_keeps_nothing_is_the_cause_then():
    made = _analysis(SESSION, "vllm-mlx@0.6.0", "none")
    assert [cause.code for cause in made.causes] == ["-"]
    assert made.reused_tokens == 0


def test_a_slot_taken_by_another_lane():
    steady = [main(), sub_agent("Look", header="6c09a"), main("t1"), main("t1", "t2")]
    one, two = (
        _analysis(steady, "vllm-mlx@0.6.0", f"conversation-slots:slots={n}") for n in (1, 2)
    )
    assert [f.code for f in one.requests[2].findings if f.code[0] == "P"] == ["P01"]
    assert all(f.code[0] != "P" for r in two.requests for f in r.findings)
    assert two.reused_tokens > one.reused_tokens


def test_hosted_breakpoints_are_played_on_estimated_tokens():
    marked = {"type": "ephemeral"}
    long = "Keep the harbour's rules. " * 2_000
    bodies = []
    for turns in ((), ("t1",), ("t1", "t2")):
        made = main(*turns)
        made["system"][1] = {"type": "text", "text": long, "cache_control": marked}
        made["model"] = "claude-sonnet-4-6"
        bodies.append(made)
    made = _analysis(bodies, "anthropic")
    assert not made.exact
    assert made.requests[0].reused_tokens == 0
    assert all(r.reused_tokens > 8_000 for r in made.requests[1:])


def _marked(tools=3, **changes):
    """A request to a model with a minimum of 1,024 tokens; its system text has 1,040 by Qwen."""
    made = main(**changes)
    made["model"] = "claude-sonnet-4-6"
    made["tools"] = made["tools"][:tools]
    made["system"] = [
        {"type": "text", "text": "Keep the rules. " * 240, "cache_control": {"type": "ephemeral"}}
    ]
    return made


def test_the_models_minimum_is_held_against_what_it_reports():
    bodies = [_marked(0), _marked(0)]
    plain = _analysed_by_usage(bodies, {})
    assert [r.reused_tokens > 0 for r in plain.requests] == [False, True]
    total = plain.requests[0].prompt_tokens
    fewer = _analysed_by_usage(bodies, {0: Usage(input_tokens=total * 3 // 4)})
    assert fewer.requests[0].prompt_tokens == total * 3 // 4
    assert fewer.requests[1].reused_tokens == 0
    assert "M04" in [found.code for found in fewer.requests[1].findings]


def _analysed_by_usage(bodies, usages):
    exchanges = reporting(recorded(bodies), usages)
    choice = choose("messages")
    return summarise(analyse(exchanges, exchanges.__getitem__, choice), choice)


def test_estimates_are_the_tokens_that_responses_report():
    usages = {
        0: Usage(input_tokens=40),
        1: Usage(input_tokens=3, cache_read=500, cache_creation=200),
        2: Usage(input_tokens=40, cache_read=700),
    }
    made = _analysed_by_usage(SESSION, usages)
    first, *main_loop = (request.prompt_tokens for request in made.requests[:3])
    assert first == 40
    assert sum(main_loop) == pytest.approx(703 + 740, abs=1)
    assert made.calibrated_usages == 3
    assert not made.exact
    plain = _analysed_by_usage(SESSION, {})
    assert made.token_factors["main"] == pytest.approx(
        1_443 / sum(plain.requests[n].prompt_tokens for n in (1, 2))
    )
    # The sub-agent asks the same model, and reports nothing.
    assert made.token_factors["agent"] == made.token_factors["main"]


_TURNS = st.lists(
    st.tuples(
        st.sampled_from([ANSWER, THOUGHT + ANSWER, f"\n\n{ANSWER}", "B-02."]),
        st.sampled_from([ANSWER, f"{ANSWER}\n\n", THOUGHT + ANSWER, "", "No <|im_end|> here"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)
_HEADS = st.tuples(st.sampled_from(["R1 " * 40, "R2 " * 40, "R1 R2 " * 300, ""]), st.integers(0, 2))
_ENGINES = (
    *("none", "llama.cpp:slots=1", "ollama", "mlx-lm", "lm-studio:trim=0", "vllm:capacity=600"),
    *("sglang", "omlx", "vllm-mlx", "conversation-slots:slots=1", "openai"),
)


def test_what_was_taken_out_is_not_prefilled_again():
    """With its tool back the prompt would be longer than it is."""
    request = played([(chat(ASK, tools=2), None), (chat(ASK, tools=1), None)], "sglang")[1]
    assert request.reused_tokens < request.prompt_tokens
    assert request.reused_tokens + request.avoidable_tokens == request.prompt_tokens


@settings(max_examples=150, deadline=None)
@given(
    turns=_TURNS,
    heads=st.lists(_HEADS, min_size=5, max_size=5),
    engine=st.sampled_from(_ENGINES),
)
def test_no_more_is_avoidable_than_was_prefilled(turns, heads, engine):
    """Whatever changes on the way: tools and system text, replies, or the talk behind them."""
    talk, sent = [ASK], []
    for (reply, back, cut), (rules, tools) in zip(turns, heads, strict=False):
        sent.append((chat(*talk, rules=rules, tools=tools), reply))
        talk = [ASK] if cut else [*talk, said(back), MORE]
    rules, tools = heads[-1]
    sent.append((chat(*talk, rules=rules, tools=tools), None))
    for request in played(sent, engine):
        reached = request.reused_tokens + request.avoidable_tokens
        assert 0 <= request.reused_tokens <= reached <= request.prompt_tokens
        assert request.shared_tokens <= request.prompt_tokens
        assert sum(tokens for *_, tokens in request.blamed) == request.avoidable_tokens
        assert all(tokens > 0 for *_, tokens in request.blamed)


def test_a_given_rate_is_taken_and_none_is_made_up():
    assert _analysis(SESSION, "vllm-mlx@0.2.6").prefill_rate is None
    assert _analysis(SESSION, "vllm-mlx@0.2.6", rate=217.0).prefill_rate == 217.0


def test_a_body_that_is_none_and_a_count_cost_nothing():
    made = _analysis(
        [main(), b'{"messages": [', main()], "vllm-mlx@0.6.0", endpoints={2: "count_tokens"}
    )
    assert [r.prompt_tokens for r in made.requests][1:] == [0, 0]
    assert made.requests[1].problem == "JSON ends too early (line 1, column 15)"


@pytest.mark.parametrize(
    ("profile", "engine"),
    [
        ("vllm-mlx@0.2.6", "none"),
        ("vllm-mlx@0.3.0", "none"),
        ("vllm-mlx@0.4.1", "vllm-mlx@0.4.1"),
        ("vllm-mlx@0.6.0:tools=native", "vllm-mlx@0.6.0"),
        ("mlx-lm", "mlx-lm"),
        ("anthropic", "anthropic"),
        ("generic", "sglang"),
    ],
)
def test_the_engine_of_a_backend(profile, engine):
    assert default_engine(profile) == engine


@pytest.mark.parametrize(
    "wrong", [{"profile_spec": "x"}, {"model_spec": "x"}, {"engine_spec": "x"}]
)
def test_what_there_is_not(wrong):
    with pytest.raises(UsageError):
        choose("messages", **({"profile_spec": "generic"} | wrong))
