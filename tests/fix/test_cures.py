"""What each backend's release does of its own, as far as the profiles can tell."""

import pytest

from cachediag.fix.cures import cures, cures_of
from cachediag.render import profile
from cachediag.render.profiles import PROFILES
from tests.compare.bodies import HEADER
from tests.render.bodies import chat, messages

LINES = [HEADER.format(cch) for cch in ("6c09a", "1c8b4")]


def does(name, code, endpoint):
    return any(code in cure.codes for cure in cures_of(name, endpoint))


def arranged(name, made):
    backend = profile(name)
    return [(block.role, block.canonical) for block in backend.arrange(made).blocks]


RELEASES = [
    *("vllm-mlx@0.2.6", "vllm-mlx@0.2.8", "vllm-mlx@0.3.0", "vllm-mlx@0.4.0", "vllm-mlx@0.4.1"),
    *("vllm-mlx@0.5.0", "vllm-mlx@0.6.0", "llama.cpp", "vllm", "anthropic"),
]


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_that_removes_the_header_is_in_the_table(name):
    sent = [messages(("user", "Go"), system=[{"type": "text", "text": line}]) for line in LINES]
    same = arranged(name, sent[0]) == arranged(name, sent[1])
    assert does(name, "V01", "messages") is same


@pytest.mark.parametrize("name", [*RELEASES[:7], "mlx-lm"])
def test_the_same_in_chat(name):
    sent = [
        chat({"role": "system", "content": f"{line}\nPlan."}, {"role": "user", "content": "Go"})
        for line in LINES
    ]
    same = arranged(name, sent[0]) == arranged(name, sent[1])
    assert does(name, "V01", "chat") is same


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_that_leaves_inline_system_messages_in_place_is_too(name):
    made = messages(
        ("user", "Go"), ("assistant", "I go."), ("system", "Mode: plan"), ("user", "On")
    )
    stays = [role for role, _ in arranged(name, made)].index("system") == 2
    assert does(name, "S07", "messages") is stays


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("vllm-mlx@0.2.8", None),
        ("vllm-mlx@0.3.0", None),
        ("vllm-mlx@0.4.1", "keeps 4 prefixes"),
        ("vllm-mlx@0.5.0", "keeps 4 system prompts"),
        ("vllm-mlx@0.6.0:tools=native", "keeps 4 system prompts"),
        ("vllm-mlx", "keeps 4 system prompts"),
        ("mlx-lm", "keeps 10 whole prompts"),
    ],
)
def test_the_cache_that_a_release_has(name, kept):
    caches = [cure.does for cure in cures_of(name) if cure.is_cache]
    assert caches == [] if kept is None else caches[0].startswith(kept)


def test_of_an_unknown_backend_nothing_is_said():
    assert cures_of("generic") == ()


@pytest.mark.parametrize("cure", cures(), ids=lambda cure: f"{cure.backend} {cure.does[:30]}")
def test_every_row_says_how_it_is_known(cure):
    assert cure.backend in PROFILES
    assert cure.source.startswith("https://")
    assert cure.how
    assert not cure.does.endswith(".")
    assert cure.limit is None or cure.limit.endswith(".")
    assert cure.whole or cure.limit
