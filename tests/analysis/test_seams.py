"""What is lost where a request goes on from the one before, and its reply."""

import pytest

from cachediag.analysis.analysed import Analysed
from cachediag.tokens.tokenizers import tokenizer
from tests.analysis.replies import (
    ANSWER,
    ASK,
    MORE,
    RULES,
    THOUGHT,
    Message,
    chat,
    exchange,
    played,
    said,
)

KEEPING = ["llama.cpp:slots=1", "lm-studio", "mlx-lm", "ollama", "sglang"]
"""Those that keep replies token by token."""
PATH = "messages[2].content"
OTHER = "".join(f"Another rule {n}. " for n in range(40))


def length(text: str) -> int:
    return len(tokenizer("qwen2.5").encode(text))


def rendered(*messages: Message) -> str:
    shown = (f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
    return "".join(shown)


def asked(rules: str = RULES) -> int:
    """Tokens of the first request, up to where the reply begins."""
    system = {"role": "system", "content": rules}
    return length(rendered(system, ASK) + "<|im_start|>assistant\n")


def two(reply: str | None, back: str, engine: str) -> Analysed:
    """The second of two requests, between which a reply comes back."""
    return played([(chat(ASK), reply), (chat(ASK, said(back), MORE), None)], engine)[1]


@pytest.mark.parametrize("engine", KEEPING)
def test_what_comes_back_of_a_changed_reply_is_avoidable(engine: str) -> None:
    request = two(THOUGHT + ANSWER, ANSWER, engine)
    assert request.reused_tokens == asked()
    # Its thinking does not come back, so it is not prefilled again.
    assert request.avoidable_tokens == length(ANSWER)
    assert request.blamed == (("S11", PATH, length(ANSWER)),)
    (found,) = [found for found in request.findings if found.code == "S11"]
    assert found.tokens_lost == length(THOUGHT + ANSWER + "<|im_end|>")


@pytest.mark.parametrize("engine", KEEPING)
def test_a_reply_that_comes_back_to_the_letter_loses_nothing(engine: str) -> None:
    request = two(ANSWER, ANSWER, engine)
    assert request.avoidable_tokens == 0
    assert request.reused_tokens >= asked() + length(ANSWER)
    assert [found.code for found in request.findings] == ["N01"]


@pytest.mark.parametrize("engine", ["none", "conversation-slots", "system-slots", "vllm-mlx"])
def test_an_engine_that_keeps_no_replies_loses_none(engine: str) -> None:
    changed, same = (two(reply, ANSWER, engine) for reply in (THOUGHT + ANSWER, ANSWER))
    assert changed == same
    assert all(found.code != "S11" for found in changed.findings)


def test_a_reply_of_other_tokens_is_lost_too() -> None:
    opened = f"\n\n{ANSWER}"
    request = two(opened, opened, "sglang")
    ((code, path, tokens),) = request.blamed
    assert (code, path) == ("E05", PATH)
    assert length(ANSWER) <= tokens == request.avoidable_tokens <= length(ANSWER) + 2


def test_blocks_round_what_is_reused_and_the_change_is_blamed_for_all() -> None:
    request = two(THOUGHT + ANSWER, ANSWER, "vllm")
    assert request.reused_tokens == asked() // 16 * 16
    assert request.reused_tokens + request.avoidable_tokens == asked() + length(ANSWER)
    assert request.blamed == (("S11", PATH, request.avoidable_tokens),)


def test_what_cannot_be_trimmed_is_lost_by_the_change() -> None:
    request = two(THOUGHT + ANSWER, ANSWER, "lm-studio:trim=0")
    assert request.reused_tokens == 0
    assert request.blamed == (("S11", PATH, asked() + length(ANSWER)),)
    assert {"S11", "P05"} <= {found.code for found in request.findings}


def test_a_slot_that_was_taken_is_not_the_replys_fault() -> None:
    """Another conversation takes the only slot in between."""
    turns = [
        (chat(ASK), THOUGHT + ANSWER),
        (chat(MORE, rules=OTHER), "No."),
        (chat(ASK, said(ANSWER), MORE), None),
    ]
    request = played(turns, "ollama")[2]
    (engine, _, kept), (code, path, lost) = request.blamed
    assert (engine, code, path) == ("P01", "S11", PATH)
    assert request.reused_tokens + kept == asked()
    assert lost == length(ANSWER)


def test_a_reply_that_was_evicted_counts_as_had_before() -> None:
    turns = [
        (chat(ASK), ANSWER),
        (chat(MORE, rules=OTHER), "No."),
        (chat(ASK, said(ANSWER), MORE), None),
    ]
    request = played(turns, "ollama")[2]
    ((code, _, kept),) = request.blamed
    assert code == "P01"
    # The end of the turn is kept with the reply.
    assert request.reused_tokens + kept == asked() + length(ANSWER) + 1


@pytest.mark.parametrize("engine", KEEPING)
def test_a_cause_before_the_reply_costs_the_reply_too(engine: str) -> None:
    rules = [f"cc_nonce={nonce};\n{RULES}" for nonce in ("6c09a1b2", "1c8b4f7e90d2aa41")]
    turns = [
        (chat(ASK, rules=rules[0]), ANSWER),
        (chat(ASK, said(ANSWER), MORE, rules=rules[1]), None),
    ]
    request = played(turns, engine)[1]
    ((code, path, tokens),) = request.blamed
    assert (code[0], path) == ("V", "messages[0].content")
    end = asked(rules[0]) + length(ANSWER) + 1
    assert request.reused_tokens + tokens == end
    (found,) = [found for found in request.findings if found.severity == "break"]
    assert found.tokens_lost == end - request.shared_tokens


@pytest.mark.parametrize("engine", KEEPING)
def test_a_change_behind_another_cause_is_found_with_that_undone(engine: str) -> None:
    rules = [f"cc_nonce={nonce};\n{RULES}" for nonce in ("6c09a1b2", "1c8b4f7e90d2aa41")]
    later = chat(ASK, said(ANSWER), MORE, rules=rules[1])
    turns = [(chat(ASK, rules=rules[0]), THOUGHT + ANSWER), (later, None)]
    request = played(turns, engine)[1]
    (first, _, before), (code, path, behind) = request.blamed
    assert (first[0], code, path) == ("V", "S11", PATH)
    assert behind == length(ANSWER)
    assert request.reused_tokens + before == asked(rules[1])
    (found,) = [found for found in request.findings if found.code == "S11"]
    assert found.byte is not None
    body = exchange(0, later, None).request
    assert body[found.byte :].startswith(b'"B-02')


def test_an_estimate_cannot_tell() -> None:
    turns = [(chat(ASK), THOUGHT + ANSWER), (chat(ASK, said(ANSWER), MORE), None)]
    exact, estimate = (played(turns, "sglang", counted)[1] for counted in ("qwen2.5", "claude"))
    assert "S11" in {found.code for found in exact.findings}
    assert {found.code for found in estimate.findings} == {"N01"}
