"""What holds for every policy."""

import inspect
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.errors import UsageError
from cachediag.simulate.model import Request, Scale
from cachediag.simulate.policies import POLICIES, policy
from tests.simulate.fleet import FakeCache, FakeReplica
from tests.simulate.prompts import digits, request

SPECS = [
    *POLICIES,
    "sagemaker:PrefixLength=1024,ConcurrencyThreshold=1,call=OpenAI",
    "sglang:balance_abs_threshold=1,eviction_interval_secs=1,max_tree_size=80",
    "ray:imbalanced_threshold=1,do_eviction=true,eviction_threshold_chars=80,"
    "eviction_target_chars=40,eviction_interval_secs=1",
    "llm-d:lruCapacityPerServer=3",
    "dynamo:router_temperature=0.5",
]

# Each step: a request of a session, or a replica joins (True) or the last one leaves (False).
_STEPS = st.lists(
    st.one_of(st.tuples(st.sampled_from("abc"), digits.filter(bool)), st.booleans()), max_size=30
)


def played(spec: str, steps: list[tuple[str, str] | bool], seed: int = 0) -> list[int]:
    """The replicas chosen; every request runs for six steps, the first two of them waiting."""
    chooser = policy(spec)
    chooser.prepare(Scale(block=64), seed)
    ids, joined = [0, 1], count(2)
    running: list[tuple[int, Request, FakeReplica]] = []
    chosen = []
    for now, step in enumerate(steps):
        for ended in [each for each in running if each[0] + 6 <= now]:
            running.remove(ended)
            chooser.ended(ended[1], ended[2], float(now))
        if step is True:
            ids.append(next(joined))
        elif step is False and len(ids) > 1:
            chooser.left(ids.pop())
        elif isinstance(step, tuple):
            replicas = [_replica(number, running, now) for number in ids]
            asked = request(step[1], session=step[0], block=64)
            replica = chooser.choose(asked, replicas, float(now))
            assert any(replica is each for each in replicas)
            assert isinstance(replica, FakeReplica)
            running.append((now, asked, replica))
            chosen.append(replica.id)
    return chosen


def _replica(number: int, running: list[tuple[int, Request, FakeReplica]], now: int) -> FakeReplica:
    own = [each for each in running if each[2].id == number]
    return FakeReplica(
        number,
        outstanding=len(own),
        waiting=len([each for each in own if each[0] + 2 > now]),
        tokens=sum(each[1].input_tokens for each in own),
        cache=FakeCache(tuple(key for each in own for key in each[1].blocks)),
    )


@pytest.mark.parametrize("spec", SPECS)
@settings(deadline=None, max_examples=50)
@given(_STEPS)
def test_one_of_those_there_are_is_chosen(spec: str, steps) -> None:
    played(spec, steps)


@pytest.mark.parametrize("spec", SPECS)
@settings(deadline=None, max_examples=50)
@given(_STEPS, st.integers(0, 9))
def test_the_same_seed_chooses_the_same(spec: str, steps, seed: int) -> None:
    assert played(spec, steps, seed) == played(spec, steps, seed)


@pytest.mark.parametrize("spec", SPECS)
def test_one_that_has_left_is_chosen_no_more(spec: str) -> None:
    """Of four the last two leave, whatever they were sent before."""
    prompts = [(session, 2 * (session + digit)) for digit in "1234" for session in "123456789"]
    chosen = played(spec, [True, True, *prompts, False, False, *prompts])
    assert {2, 3} & set(chosen[: len(prompts)])
    assert set(chosen[len(prompts) :]) <= {0, 1}


@pytest.mark.parametrize("spec", SPECS)
def test_another_seed_chooses_otherwise_where_there_is_chance(spec: str) -> None:
    steps: list[tuple[str, str] | bool] = [(str(number), "123") for number in range(40)]
    runs = {tuple(played(spec, [True, True, *steps], seed)) for seed in range(5)}
    decided = spec.partition(":")[0] in {"round-robin", "sglang"}
    assert len(runs) == 1 if decided else len(runs) > 1


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_says_its_name(name: str) -> None:
    assert policy(name).name == name
    assert policy(f"{name}:").name == name


def test_there_are_ten() -> None:
    assert list(POLICIES) == [
        *("random", "round-robin", "least-outstanding", "session-hash", "sagemaker"),
        *("sglang", "production-stack", "llm-d", "dynamo", "ray"),
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nginx", "no routing policy is called 'nginx'"),
        ("", "no routing policy is called ''"),
        ("random:seed=4", "random has no option 'seed'"),
        ("sglang:cache=1", "sglang has no option 'cache'"),
    ],
)
def test_a_wrong_specification_says_what_is_wrong(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$") as caught:
        policy(spec)
    assert caught.value.remedy is not None


def test_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(UsageError) as caught:
        policy("nginx")
    assert caught.value.remedy == f"Choose one of: {', '.join(POLICIES)}."


def _row(name: str) -> str:
    """Parameters and defaults of a policy, as they are documented."""
    given = [
        f"`{each.name}={_spelled(each.default)}`"
        for each in inspect.signature(POLICIES[name]).parameters.values()
    ]
    return ", ".join(given)


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize("name", POLICIES)
def test_the_documentation_has_its_parameters_and_defaults(name: str) -> None:
    text = (Path(__file__).parents[3] / "docs/policies.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
    assert [row.split("|")[3].strip() for row in rows] == [_row(name)]
    assert f"\n## `{name}`\n" in text
