"""What each id of a vocabulary stands for, held against the text that it is decoded to."""

import json

import pytest

from cachediag.tokens.tokenizers import tokenizer
from cachediag.tokens.tokenizers.library import Library
from cachediag.tokens.tokenizers.spelling import spelled_out
from tests.tokens.texts import trained, written

TEXT = "Zwei Fische, 糸\n\tund <|im_end|> n\u00e4chste"


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6"])
def test_the_tokens_of_a_text_spell_it(name: str) -> None:
    found = tokenizer(name)
    vocabulary = found.vocabulary()
    assert b"".join(vocabulary[token] for token in found.encode(TEXT)).decode() == TEXT
    for text, number in found.special.items():
        assert vocabulary[number] == text.encode()


def test_an_estimate_has_that_of_its_base() -> None:
    assert tokenizer("claude").vocabulary() == tokenizer("qwen2").vocabulary()[:151_643]


def test_the_library_and_tiktoken_have_one_vocabulary(tmp_path) -> None:
    library = trained()
    fast = tokenizer(str(written(library, tmp_path / "tokenizer.json")))
    slow = Library(tmp_path / "tokenizer.json", json.loads(library.to_str()))
    assert slow.vocabulary() == fast.vocabulary()


def test_byte_pieces_and_spaces_of_a_byte_fallback() -> None:
    vocabulary = {"<0x0A>": 0, "\u2581the": 1, "é": 2, "<|end|>": 4}
    assert spelled_out(vocabulary, {"<|end|>"}) == [b"\n", b" the", "é".encode(), b"", b"<|end|>"]
