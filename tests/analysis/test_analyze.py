import pytest

from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.choice import choose, default_engine
from cachediag.errors import UsageError
from tests.analysis.sessions import main, recorded, sub_agent, title

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
