"""The table, and what is true of every model in it."""

import inspect
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.analysis.engines import ENGINES, Breakpoint, PromptBlock, engine
from cachediag.errors import UsageError
from cachediag.tokens.sequence import TokenSequence
from tests.analysis.engines.prompts import Session, prompt, text

SPECS = [
    *ENGINES,
    *("vllm-mlx@0.3.0", "vllm-mlx@0.4.1", "vllm-mlx:slots=1,wait=1", "mlx-lm:slots=2,trim=0"),
    *("llama.cpp:slots=2,host=40", "ollama:slots=2,multiuser=1", "vllm:block=4,capacity=40"),
    *("sglang:capacity=30", "omlx:block=4", "conversation-slots:slots=2"),
]


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("none", "none"),
        ("vllm-mlx", "vllm-mlx@0.6.0"),
        ("vllm-mlx@0.4.1:slots=2", "vllm-mlx@0.4.1"),
        ("vllm-mlx@0.3.0", "vllm-mlx@0.3.0"),
        ("vllm:capacity=100000", "vllm"),
        ("llama.cpp:slots=1", "llama.cpp"),
        ("lm-studio", "lm-studio"),
    ],
)
def test_a_specification_names_a_model(spec: str, name: str) -> None:
    assert engine(spec).name == name


@pytest.mark.parametrize("name", ENGINES)
def test_a_model_says_its_name(name: str) -> None:
    assert engine(name).name.partition("@")[0] == name


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("redis", "no cache model is called 'redis'"),
        ("vllm@1", "vllm has no versions"),
        ("vllm:slots=4", "vllm has no option 'slots'"),
        ("none:slots=4", "none has no option 'slots'"),
        ("mlx-lm:slots=many", "slots of mlx-lm must be a number, not 'many'"),
        ("mlx-lm:slots", "slots of mlx-lm must be a number, not ''"),
        ("mlx-lm:slots=0", "slots must be at least 1, not 0"),
        ("vllm:capacity=0", "capacity must be at least 1, not 0"),
        ("vllm-mlx@main", "no version of vllm-mlx is called 'main'"),
    ],
)
def test_a_wrong_specification_says_what_is_wrong(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        engine(spec)


def test_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(UsageError) as caught:
        engine("redis")
    assert caught.value.remedy is not None
    assert all(name in caught.value.remedy for name in ENGINES)


# A session as a list of steps: which earlier prompt to start from, how much of it to keep, what to
# append, whose lane it is, and what is generated.
_STEPS = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.integers(0, 9),
        st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5), min_size=1, max_size=3),
        st.sampled_from("ab"),
        st.lists(st.integers(0, 2), max_size=4),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=25, deadline=None)
@given(steps=_STEPS, timed=st.booleans())
def test_no_more_is_reused_than_was_sent_before(spec: str, steps, timed: bool) -> None:
    session = Session(engine(spec))
    prompts: list[list[list[int]]] = [[]]
    # Hosted caches begin at about a thousand tokens.
    scale = 600 if spec in ("anthropic", "openai") else 1
    for number, (base, kept, appended, lane, generated) in enumerate(steps):
        before = prompts[base % len(prompts)]
        parts = [*before[:kept], *(part * scale for part in appended)]
        tokens = prompt(*parts)
        # Requests overlap: each starts before the one before it has ended.
        times = {"started": number, "first_byte": number + 0.5, "ended": number + 1.5}
        session.send(
            tokens,
            lane,
            endpoint="chat",
            reply=TokenSequence([*tokens.chunks, *prompt(generated or [7]).chunks]),
            stream=True,
            system_length=len(parts[0]) if len(parts[0]) < len(tokens) else 0,
            system_key=bytes(parts[0]),
            history_length=len(tokens) - len(parts[-1]),
            blocks=tuple(PromptBlock(end, "messages", "text", "user") for end in tokens.starts[1:]),
            breakpoints=(Breakpoint(len(parts) - 1),),
            **(times if timed else {}),
        )
        prompts.append(parts)


@pytest.mark.parametrize("name", sorted(ENGINES.keys() - {"none", "system-slots", "anthropic"}))
def test_a_conversation_that_only_grows_is_reused(name: str) -> None:
    session = Session(engine(name))
    parts = [text(3000)]
    for turn in range(1, 4):
        parts.append(text(1000, turn))
        tokens = prompt(*parts)
        blocks = tuple(
            PromptBlock(end, "messages", "text", "user", number)
            for number, end in enumerate(tokens.starts[1:])
        )
        served = session.send(
            tokens,
            endpoint="chat",
            model="gpt-5.6",
            stream=True,
            system_length=3000,
            system_key=b"key",
            blocks=blocks,
        )
    assert served.reused >= 3000 - 3000 % 256


def test_the_documentation_lists_every_engine_and_option() -> None:
    page = Path(__file__).parents[3] / "docs" / "engines.md"
    rows = re.findall(r"^\| `([^`]+)` \|[^|]*\|([^|]*)\|$", page.read_text("utf-8"), re.MULTILINE)
    listed = {
        name.removesuffix("[@VERSION]"): set(re.findall(r"`(\w+)(?:=\d+)?`", options))
        for name, options in rows
    }
    assert listed == {
        name: inspect.signature(build).parameters.keys() - {"version"}
        for name, build in ENGINES.items()
    }
