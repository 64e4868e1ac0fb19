"""Tokenizer files that are none, or hostile ones: a clear error, and soon."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.errors import InputError
from cachediag.tokens.tokenizers import rank_file, tokenizer
from tests.hostile.strategies import Json

ADDED = {
    "id": 3,
    "content": "<|x|>",
    "special": True,
    **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
}
SPLITS = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
FILE = {
    "version": "1.0",
    "added_tokens": [ADDED],
    "normalizer": None,
    "pre_tokenizer": {"type": "ByteLevel", **SPLITS},
    "decoder": None,
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
}


def tried(path):
    """What an encoder asks of a tokenizer, where the file is one."""
    try:
        made = tokenizer(str(path))
    except InputError:
        return None
    assert made.encode("ab<|x|>") is not None
    assert 0 <= made.characters("ab<|x|>", 1) <= 7
    assert all(isinstance(token, bytes) for token in made.vocabulary())
    return made


def test_the_file_that_is_made_worse_is_one(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(FILE))
    made = tried(tmp_path)
    assert made is not None
    assert made.encode("ab<|x|>a") == [2, 3, 0]


_PLACES = [
    *((name,) for name in FILE),
    *(("model", name) for name in ("type", "vocab", "merges")),
    ("added_tokens", 0),
    *(("added_tokens", 0, name) for name in ADDED),
    ("pre_tokenizer", "type"),
]


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.sampled_from(_PLACES), Json)
def test_anything_may_stand_anywhere(tmp_path, place, value):
    made = json.loads(json.dumps(FILE))
    holder = made
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    (tmp_path / "tokenizer.json").write_text(json.dumps(made))
    tried(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"null",
        b"[]",
        b"[" * 1_000_000,
        b'{"model":' * 300_000,
        b'{"model": {"type": "BPE", "vocab": {}, "merges": ' + b"[" * 900 + b"]" * 900 + b"}}",
        b'{"added_tokens": [], "normalizer": ' + b'{"type":"Sequence","normalizers":[' * 300
        + b"]}" * 300 + b', "model": {}}',
        b'{"model": {"vocab": {"a": ' + b"9" * 5_000 + b"}}}",
        b'{"model": {"type": "BPE", "vocab": {"a": 4294967295}, "merges": []}, "added_tokens": []}',
    ],
)  # fmt: skip
def test_what_is_no_tokenizer_is_told(tmp_path, content):
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(InputError, match=r": not a tokenizer\.json"):
        tokenizer(str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"a", b"YQ== x", b"\xff 1", b"YQ== 1 YQ==", b"YQ== -1"])
def test_what_is_no_rank_file_is_named(tmp_path, content):
    (tmp_path / "x.tiktoken").write_bytes(content)
    with pytest.raises(InputError):
        rank_file.load(tmp_path / "x.tiktoken")
