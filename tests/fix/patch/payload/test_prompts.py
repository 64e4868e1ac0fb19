"""Where prompts are divided."""

import re
from typing import Any

import pytest

from cachediag.fix.patch.payload.prompts import encode, marks, takes_system_anywhere


class Tokenizer:
    """Special tokens, words, runs of white space, and single signs; each piece has a number."""

    bos_token: str | None = None

    def __init__(self, template: str = "chatml") -> None:
        self._template = template
        self._numbers: dict[str, int] = {}

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        pieces = re.findall(r"<\|\w+\|>|\w+|\s+|.", text)
        if add_special_tokens and self.bos_token:
            pieces = [self.bos_token, *pieces]
        return [self._numbers.setdefault(piece, len(self._numbers)) for piece in pieces]

    def decode(self, tokens: list[int]) -> str:
        return "".join(list(self._numbers)[token] for token in tokens)

    def apply_chat_template(
        self, messages: list[dict[str, Any]], tokenize: bool, add_generation_prompt: bool
    ) -> str:
        assert not tokenize
        if self._template == "chatml":
            said = "".join(f"<|start|>{m['role']}\n{m['content']}<|end|>\n" for m in messages)
            return said + ("<|start|>assistant\n" if add_generation_prompt else "")
        if self._template == "strict":
            assert all(m["role"] != "system" for m in messages[1:]), "only at the beginning"
            return Tokenizer().apply_chat_template(messages, tokenize, add_generation_prompt)
        if self._template == "joined":
            return "\n\n".join(m["content"] for m in messages)
        raise ValueError("no template")


@pytest.mark.parametrize("begins", ["Hello", "\n\nHello", " <|start|>", "{}"])
def test_a_prompt_is_divided_at_its_first_message(begins):
    tokenizer = Tokenizer()
    found = marks(tokenizer)
    system = "<|start|>system\nBe brief.\n\n<tools></tools><|end|>\n<|start|>user"
    prompt = f"{system}\n{begins}<|end|>\n<|start|>assistant\n"
    tokens = encode(tokenizer, prompt)
    assert tokens[: found.system_end(tokens)] == encode(tokenizer, system)
    history_end = found.history_end(tokens)
    assert history_end is not None
    assert tokenizer.decode(list(tokens[history_end:])) == "<|start|>assistant\n"


def test_the_reply_is_looked_for_at_the_end_alone():
    tokenizer = Tokenizer()
    found = marks(tokenizer)
    prompt = "<|start|>assistant\n" + "word " * 100
    assert found.history_end(encode(tokenizer, prompt)) is None


@pytest.mark.parametrize("template", ["joined", "none"])
def test_without_marks_nothing_is_divided(template):
    tokenizer = Tokenizer(template)
    found = marks(tokenizer)
    tokens = encode(tokenizer, "Be brief.\n\nHello")
    assert (found.opening, found.system_end(tokens), found.history_end(tokens)) == ((), 0, None)


@pytest.mark.parametrize(
    ("template", "expected"),
    [("chatml", True), ("strict", False), ("joined", True), ("none", False)],
)
def test_templates_that_take_a_system_message_anywhere(template, expected):
    assert takes_system_anywhere(Tokenizer(template)) is expected


def test_special_tokens_are_added_once():
    tokenizer = Tokenizer()
    assert tokenizer.decode(list(encode(tokenizer, "a"))) == "a"
    tokenizer.bos_token = "<|bos|>"
    assert tokenizer.decode(list(encode(tokenizer, "a"))) == "<|bos|>a"
    assert tokenizer.decode(list(encode(tokenizer, "<|bos|>a"))) == "<|bos|>a"
    assert encode(tokenizer, [3, 4]) == (3, 4)
