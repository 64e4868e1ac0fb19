"""Ids of real models, against the library that engines use."""

import json
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine

from cachediag.tokens import encoder as module
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import Tokenizer, tokenizer
from cachediag.tokens.tokenizers.bytepairs import (
    LLAMA_3,
    O200K,
    PATTERNS,
    QWEN_2,
    QWEN_3_5,
    BytePairs,
)
from cachediag.tokens.tokenizers.library import Library
from tests.live.tokenizer_files import model_files
from tests.tokens.texts import texts

ROOT = Path(__file__).parents[2]
KINDS = {
    "qwen2_5": BytePairs,
    "qwen3": BytePairs,
    "llama3_1": BytePairs,
    "gptoss": BytePairs,
    "deepseek_v3": Library,
    "gemma3": Library,
}
CODE_POINTS_A_TEXT = 64
NAMES = {QWEN_2: "Qwen 2", QWEN_3_5: "Qwen 3.5", LLAMA_3: "Llama 3", O200K: "o200k"}


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest) -> tuple:
    """A model's tokenizer as engines run it, and as cachediag does, by directory and by name."""
    files = model_files(request.param)
    ours = [tokenizer(str(files))]
    assert isinstance(ours[0], KINDS[request.param])
    if request.param.startswith("qwen"):
        ours.append(tokenizer(request.param.replace("_", ".")))
    return Engine.from_file(str(files / "tokenizer.json")), ours


@pytest.fixture
def _short_chunks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LEAST", 1)
        yield


def ids(engine: Engine, text: str) -> list[int]:
    found: list[int] = engine.encode(text, add_special_tokens=False).ids
    return found


def test_special_tokens_are_those_of_the_model(model: tuple) -> None:
    engine, ours = model
    added = {token.content: id_ for id_, token in engine.get_added_tokens_decoder().items()}
    for one in ours:
        assert one.special.items() <= added.items()
        if isinstance(one, BytePairs):
            assert one.special == added


@pytest.mark.usefixtures("_short_chunks")
@settings(
    max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(parts=st.lists(texts, max_size=4), data=st.data())
def test_ids_of_hard_texts(model: tuple, parts: list[str], data: st.DataObject) -> None:
    engine, ours = model
    special = sorted(ours[0].special)
    parts = [part for text in parts for part in (text, data.draw(st.sampled_from(special)))]
    for one in ours:
        assert list(Encoder(one).sequence(parts)) == ids(engine, "".join(parts))


def test_ids_of_code_and_prose(model: tuple) -> None:
    engine, ours = model
    start = next(iter(ours[0].special))
    files = [ROOT / "README.md", *sorted(ROOT.glob("cachediag/*.py")), *ROOT.glob("docs/d*.md")]
    prompt = [f"{start}{file.read_text(encoding='utf-8')}" for file in files]
    for one in ours:
        assert list(Encoder(one).sequence(prompt)) == ids(engine, "".join(prompt))


def test_a_token_is_found_where_the_engine_finds_it(model: tuple) -> None:
    engine, ours = model
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    offsets = engine.encode(text, add_special_tokens=False).offsets
    for one in ours:
        for token in range(0, len(offsets), 97):
            assert Encoder(one).characters(text, token) == offsets[token][0]


@pytest.mark.parametrize("pattern", NAMES, ids=NAMES.get)
def test_every_character_is_parted_as_the_engine_parts_it(pattern: str, tmp_path: Path) -> None:
    data = json.loads((model_files("qwen2_5") / "tokenizer.json").read_text(encoding="utf-8"))
    data["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = pattern
    data["normalizer"] = None
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    engine, ours = Engine.from_file(str(path)), tokenizer(str(path))
    assert isinstance(ours, BytePairs)
    for text in assigned():
        assert ours.encode(text) == ids(engine, text)


def assigned() -> Iterator[str]:
    """Every character, beside letters, digits, spaces, line ends and marks."""
    points = (chr(n) for n in range(sys.maxunicode + 1))
    known: Any = [c for c in points if unicodedata.category(c) not in {"Cn", "Co", "Cs"}]
    for start in range(0, len(known), CODE_POINTS_A_TEXT):
        some = known[start : start + CODE_POINTS_A_TEXT]
        yield "".join(f"a{c}B {c} 1{c}2.{c}'{c}s \n{c}\n  {c}" for c in some)


def test_no_pattern_is_left_out() -> None:
    assert NAMES.keys() == PATTERNS


def test_the_name_of_a_family_stands_for_its_tokenizer() -> None:
    by_name: Tokenizer = tokenizer("mlx-community/Qwen3-4B-4bit")
    by_file = tokenizer(str(model_files("qwen3")))
    assert by_name.special == by_file.special
