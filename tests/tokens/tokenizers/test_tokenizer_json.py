"""Which files tiktoken may stand for, and which the library must run."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tokenizers import AddedToken, Tokenizer, normalizers

from cachediag import extras
from cachediag.errors import UsageError
from cachediag.tokens.tokenizers import tokenizer
from cachediag.tokens.tokenizers.bytepairs import BytePairs
from cachediag.tokens.tokenizers.library import Library
from cachediag.tokens.tokenizers.tokenizer_json import load
from tests.tokens.texts import SPECIAL, texts, trained, written


@pytest.fixture(scope="module")
def library() -> Tokenizer:
    return trained()


def read(library: Tokenizer, directory: Path, **changed: Any) -> BytePairs | Library:
    return load(written(library, directory / "tokenizer.json", **changed))


def part(library: Tokenizer, name: str, **changed: Any) -> dict[str, Any]:
    """One part of the file, with some of its fields replaced."""
    found: dict[str, Any] = json.loads(library.to_str())[name]
    return found | changed


def test_a_byte_pair_encoder_of_known_pattern_is_given_to_tiktoken(
    library: Tokenizer, tmp_path: Path
) -> None:
    found = read(library, tmp_path)
    assert isinstance(found, BytePairs)
    assert found.exact
    assert set(found.special) == set(SPECIAL)


def test_merges_may_be_written_as_strings(library: Tokenizer, tmp_path: Path) -> None:
    model = part(library, "model")
    model["merges"] = [" ".join(pair) for pair in model["merges"]]
    found = read(library, tmp_path, model=model)
    assert isinstance(found, BytePairs)
    assert found.encode("Words don't") == library.encode("Words don't").ids


def test_text_is_left_as_it_is_where_the_file_names_no_normal_form(
    library: Tokenizer, tmp_path: Path
) -> None:
    plain = Tokenizer.from_str(library.to_str())
    plain.normalizer = normalizers.Sequence([])
    found = read(plain, tmp_path)
    assert isinstance(found, BytePairs)
    assert found.encode("e\u0301") == plain.encode("e\u0301").ids
    assert found.encode("e\u0301") != library.encode("e\u0301").ids


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, "trim_offsets": True}
TOKEN = {"id": 5, "content": "<x>", "special": True, "lstrip": False, "rstrip": True}
OTHERS: dict[str, Any] = {
    "pattern": {"pre_tokenizer": BYTES},
    "normal form": {"normalizer": {"type": "NFKC"}},
    "flag": {"added_tokens": [TOKEN | {"normalized": False, "single_word": False}]},
}


@pytest.mark.parametrize("changed", OTHERS.values(), ids=OTHERS.keys())
def test_what_tiktoken_would_do_otherwise_is_left_to_the_library(
    library: Tokenizer, tmp_path: Path, changed: dict[str, Any]
) -> None:
    assert isinstance(read(library, tmp_path, **changed), Library)


@pytest.mark.parametrize(
    "changed", [{"byte_fallback": True}, {"unk_token": "a"}, {"end_of_word_suffix": "$"}]
)
def test_models_that_look_at_more_than_merges_are_left_to_the_library(
    library: Tokenizer, tmp_path: Path, changed: dict[str, Any]
) -> None:
    model = part(library, "model", **changed)
    if "end_of_word_suffix" in changed:
        model["merges"] = []
    assert isinstance(read(library, tmp_path, model=model), Library)


def test_merges_out_of_order_are_left_to_the_library(library: Tokenizer, tmp_path: Path) -> None:
    model = part(library, "model")
    model["merges"][0], model["merges"][1] = model["merges"][1], model["merges"][0]
    assert isinstance(read(library, tmp_path, model=model), Library)


def test_a_token_that_no_merge_makes_is_left_to_the_library(
    library: Tokenizer, tmp_path: Path
) -> None:
    model = part(library, "model")
    model["vocab"]["zqzqzq"] = 5000
    found = read(library, tmp_path, model=model)
    assert isinstance(found, Library)
    assert 5000 not in found.encode("zqzqzq")


def test_special_tokens_that_only_the_configuration_names(
    library: Tokenizer, tmp_path: Path
) -> None:
    path = written(library, tmp_path / "tokenizer.json")
    known = json.loads(library.to_str())["added_tokens"]
    new = {"content": "<extra>", "special": True, "lstrip": False, "rstrip": False}
    config = {
        "added_tokens_decoder": {
            "4000": new | {"normalized": False, "single_word": False},
            "4001": known[0] | {"normalized": True},
        }
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    found = tokenizer(str(path))
    assert isinstance(found, BytePairs)
    assert found.encode("<extra>") == [4000]
    assert found.special[known[0]["content"]] == known[0]["id"]


def test_the_library_cuts_at_special_tokens_alone(tmp_path: Path) -> None:
    of = trained(normalizer=normalizers.NFKC())
    of.add_tokens([AddedToken("word", lstrip=True)])
    found = read(of, tmp_path)
    assert isinstance(found, Library)
    assert set(found.special) == set(SPECIAL)
    assert found.cuts is None


@settings(max_examples=200, deadline=None)
@given(text=texts)
def test_the_library_finds_a_token_in_the_text(text: str, tmp_path_factory: Any) -> None:
    of = trained(normalizer=normalizers.NFKC()) if not KEPT else KEPT[0]
    KEPT.append(of)
    if len(KEPT) == 1:
        path = written(of, tmp_path_factory.mktemp("library") / "tokenizer.json")
        KEPT.append(load(path))
    found = KEPT[1]
    encoded = of.encode(text, add_special_tokens=False)
    for token, (start, _) in enumerate(encoded.offsets):
        assert found.characters(text, token) == start
    assert found.characters(text, len(encoded.ids)) == len(text)


KEPT: list[Any] = []


def test_a_lone_surrogate_counts_as_the_replacement_character(tmp_path: Path) -> None:
    of = trained(normalizer=normalizers.NFKC())
    assert read(of, tmp_path).encode("a\ud800b") == of.encode("a\ufffdb").ids


def test_it_is_said_how_to_get_the_library(
    library: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "has", lambda package: package != "tokenizers")
    assert isinstance(read(library, tmp_path), BytePairs)
    with pytest.raises(UsageError, match="needs tokenizers, which is not installed") as caught:
        read(library, tmp_path, normalizer={"type": "NFKC"})
    assert caught.value.where is not None
    assert caught.value.where.startswith(str(tmp_path))
    assert caught.value.remedy == "Install it: pip install 'cachediag[tokenizers]'"
