import json

import pytest
from hypothesis import given
from tokenizers import Tokenizer

from cachediag.backends.sandbox.tokenizer import merges, write_tokenizer
from cachediag.render.models import chat_template, model_config
from cachediag.tokens.tokenizers import tokenizer
from cachediag.tokens.tokenizers.tokenizer_json import load
from tests.tokens.texts import texts

QWEN = tokenizer("qwen2.5")


def test_a_token_is_made_of_what_merging_older_ones_comes_to():
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {b"th": 256, b"he": 257, b"the": 258, b"re": 259, b"there": 260}
    assert merges(ranks) == [
        *[(b"t", b"h"), (b"h", b"e"), (b"th", b"e"), (b"r", b"e"), (b"the", b"re")]
    ]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    write_tokenizer(place)
    return place


@pytest.fixture(scope="module")
def ours(directory):
    return load(directory / "tokenizer.json", model_config(directory))


@pytest.fixture(scope="module")
def engines(directory):
    return Tokenizer.from_file(str(directory / "tokenizer.json"))


@given(text=texts)
def test_the_files_are_qwen_2_5s(text, ours, engines):
    known = QWEN.encode(text)
    assert ours.encode(text) == known
    assert engines.encode(text, add_special_tokens=False).ids == known


def test_special_tokens_and_template(directory, ours):
    assert ours.special == QWEN.special
    assert "<|im_start|>" in (chat_template(directory) or "")
    config = json.loads((directory / "tokenizer_config.json").read_text())
    assert config["added_tokens_decoder"]["151645"]["content"] == config["eos_token"]
