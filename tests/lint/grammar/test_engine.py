"""Which engines are here, what ends an answer, and what an engine says."""

import builtins

import pytest

from cachediag.errors import UsageError
from cachediag.lint.grammar import engine
from cachediag.lint.grammar.engine import end_tokens, installed, lines
from cachediag.tokens.tokenizers import tokenizer


def test_without_the_extra_one_line_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr(engine, "ENGINES", {"no-such-package": "x"})
    with pytest.raises(UsageError, match="neither is installed") as told:
        installed()
    assert "\n" not in str(told.value)
    assert told.value.remedy == "pip install 'cachediag[grammar]'"


def test_what_is_here_and_what_is_not(monkeypatch) -> None:
    monkeypatch.setattr(engine, "ENGINES", {"pytest": "x", "no-such-package": "y"})
    assert installed() == ({"pytest": pytest.__version__}, ("no-such-package",))


def test_no_module_of_the_package_needs_an_engine_to_be_imported(monkeypatch) -> None:
    real = builtins.__import__

    def refuse(name, *args, **more):
        if name in {"xgrammar", "llguidance", "torch"}:
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    import importlib

    for module in (*engine.ENGINES.values(), "cachediag.lint.grammar.worker"):
        importlib.reload(importlib.import_module(module))


def test_the_tokens_that_end_an_answer() -> None:
    qwen = tokenizer("qwen3")
    vocabulary, ends = end_tokens(qwen)
    assert [vocabulary[each] for each in ends] == [b"<|im_end|>", b"<|endoftext|>"]


def test_one_is_made_up_where_none_is_known() -> None:
    claude = tokenizer("claude")
    vocabulary, ends = end_tokens(claude)
    assert ends == [len(claude.vocabulary())]
    assert vocabulary[ends[0]] == b"</s>"


def test_what_an_engine_says_loses_the_places_in_its_source() -> None:
    said = "[23:52:26] /project/cpp/a.cc:1330: Warning: no\n[23:52:27] /project/cpp/b.cc:7: no\n\n"
    assert lines(said) == ("no",)
    assert lines(["x", "y", "x"]) == ("x", "y")
