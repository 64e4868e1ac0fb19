"""Rank files are taken from where they are, and only if they are the right ones."""

import base64
import gzip
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from cachediag.errors import InputError, UsageError
from cachediag.tokens.tokenizers import rank_file
from cachediag.tokens.tokenizers.openai import FILES, load


def ranks(count: int) -> bytes:
    """A rank file: all bytes, then as many pairs of bytes as are left."""
    tokens = [bytes([n]) for n in range(256)]
    tokens += [bytes([n >> 8, n & 0xFF]) for n in range(65_536)]
    tokens += [bytes([n >> 16, n >> 8 & 0xFF, n & 0xFF]) for n in range(count - len(tokens))]
    lines = (b"%s %d\n" % (base64.b64encode(one), n) for n, one in enumerate(tokens[:count]))
    return b"".join(lines)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A small rank file that stands for o200k's."""
    data = ranks(300)
    file = replace(FILES["o200k"], sha256=sha256(data).hexdigest())
    monkeypatch.setitem(FILES, "o200k", file)
    for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    return data


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_from_tiktokens_cache(
    variable: str, small: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    (tmp_path / FILES["o200k"].cached_as).write_bytes(small)
    assert load("o200k").encode("<|endoftext|>A\x00\x05") == [199_999, 65, 261]


def test_from_the_package_bpe_openai(
    small: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "bpe_openai"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('imported')")
    (package / "data" / "o200k_base.tiktoken.gz").write_bytes(gzip.compress(small))
    monkeypatch.syspath_prepend(tmp_path)
    assert load("o200k").encode("A") == [65]
    assert "bpe_openai" not in sys.modules


def test_a_file_with_other_content_is_not_taken(
    small: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    (tmp_path / FILES["o200k"].cached_as).write_bytes(small + b"\n")
    with pytest.raises(UsageError, match="is not on this machine"):
        load("o200k")


@pytest.mark.parametrize(
    ("count", "special", "id_"),
    [(100_256, "<|endofprompt|>", 100_276), (151_643, "</think>", 151_668)],
)
def test_a_rank_file_is_known_by_its_ranks(
    count: int, special: str, id_: int, tmp_path: Path
) -> None:
    path = tmp_path / "some.tiktoken"
    path.write_bytes(ranks(count))
    found = rank_file.load(path)
    assert found.name == str(path)
    assert found.encode(f"A{special}") == [65, id_]


def test_a_rank_file_of_another_tokenizer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.tiktoken"
    path.write_bytes(ranks(1234))
    with pytest.raises(InputError, match="of 1,234 ranks, which belongs to no known") as caught:
        rank_file.load(path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("content", [b"hello", b"IQ== x", b"\x00\xff \xfe", b"IQ== 1 Ig=="])
def test_a_file_that_is_no_rank_file(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a tiktoken rank file"):
        rank_file.load(path)
