"""What a name, a file or a model stands for, and what is said where it stands for nothing."""

import socket
from pathlib import Path

import pytest

from cachediag.errors import InputError, UsageError
from cachediag.tokens.tokenizers import TOKENIZERS, tokenizer
from tests.tokens.texts import trained, written


@pytest.fixture(autouse=True)
def _nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home without models, and a machine without a network."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "no cache"))

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("a tokenizer reached for the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize(
    ("spec", "name", "exact"),
    [
        ("qwen2", "qwen2", True),
        ("qwen2.5", "qwen2.5", True),
        ("qwen3", "qwen3", True),
        ("qwen3.5", "qwen3.6", True),
        ("qwen3.6", "qwen3.6", True),
        ("Qwen2.5-Coder-7B-Instruct", "qwen2.5", True),
        ("mlx-community/Qwen3-30B-A3B-4bit", "qwen3", True),
        ("claude", "claude", False),
        ("claude-opus-4-7", "claude-opus-4-7", False),
    ],
)
def test_names(spec: str, name: str, exact: bool) -> None:
    found = tokenizer(spec)
    assert (found.name, found.exact) == (name, exact)


def test_an_unknown_name_is_answered_with_the_choices() -> None:
    with pytest.raises(UsageError) as caught:
        tokenizer("llama9")
    assert str(caught.value) == "no tokenizer, file or downloaded model is called 'llama9'"
    assert caught.value.remedy is not None
    assert all(name in caught.value.remedy for name in TOKENIZERS)


def test_a_tokenizer_json_by_path(tmp_path: Path) -> None:
    library = trained()
    path = written(library, tmp_path / "tokenizer.json")
    found = tokenizer(str(path))
    text = "<|im_start|>Words, words.<|im_end|>"
    assert found.name == str(path)
    assert found.encode(text) == library.encode(text).ids


def test_a_model_by_directory_and_by_name(tmp_path: Path) -> None:
    snapshot = tmp_path / ".cache/huggingface/hub/models--org--Some-Model/snapshots/abc"
    snapshot.mkdir(parents=True)
    written(trained(), snapshot / "tokenizer.json")
    by_directory, by_name = tokenizer(str(snapshot)), tokenizer("org/Some-Model")
    assert by_directory.encode("Words") == by_name.encode("Words")
    assert by_name.name == str(snapshot / "tokenizer.json")


def test_a_model_on_this_machine_comes_before_the_family_of_its_name(tmp_path: Path) -> None:
    directory = tmp_path / ".lmstudio/models/org/Qwen3-Tuned"
    directory.mkdir(parents=True)
    path = written(trained(), directory / "tokenizer.json")
    assert tokenizer("Qwen3-Tuned").name == str(path)


def test_a_directory_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no tokenizer\.json") as caught:
        tokenizer(str(tmp_path))
    assert caught.value.where == str(tmp_path)


@pytest.mark.parametrize("content", [b"{}", b"[]", b"no JSON", b'{"model":null}', b"\xff\xfe"])
def test_a_file_that_is_no_tokenizer_json(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"not a tokenizer\.json") as caught:
        tokenizer(str(path))
    assert caught.value.where == str(path)


@pytest.mark.parametrize("name", ["o200k", "cl100k"])
def test_rank_files_that_are_not_here_are_asked_for_not_downloaded(name: str) -> None:
    with pytest.raises(
        UsageError, match=f"the rank file of {name} is not on this machine"
    ) as caught:
        tokenizer(name)
    assert "TIKTOKEN_CACHE_DIR" in str(caught.value.remedy)
