"""Where a prompt goes on from an earlier one, or from its reply: the findings E05 and S11.

Both need what two bodies alone do not hold: tokens, and the reply as it was generated.
"""

from dataclasses import dataclass

from cachediag.compare.comparison import Keys
from cachediag.compare.places import leaf_path
from cachediag.compare.wording import message_of
from cachediag.heads import common_head
from cachediag.model import Block, Finding, Json, Prompt
from cachediag.protocol import jsontext
from cachediag.render.rendered import Rendered
from cachediag.tokens.sequence import TokenSequence

__all__ = ["KEEP_REPLIES", "Earlier", "prompt_seam", "reply_seam"]

KEEP_REPLIES = frozenset(
    ("conversation-slots", "llama.cpp", "lm-studio", "mlx-lm", "ollama", "omlx", "sglang", "vllm")
)
"""The cache models of engines that keep the tokens they generated."""

# The template's own closing of a turn, and the last token, which engines feed again.
_CLOSING = 3
_ARGUMENTS: tuple[Keys, ...] = (("function", "arguments"), ("arguments",), ("input",))


@dataclass(frozen=True, slots=True)
class Earlier:
    """The request that a prompt goes on from."""

    rendered: Rendered
    tokens: TokenSequence
    reply: TokenSequence | None = None
    """Prompt and reply as the engine keeps them; None where the reply was not recorded."""
    generated: str = ""
    """The reply's text, special tokens included."""


def prompt_seam(
    earlier: Earlier, prompt: Prompt, rendered: Rendered, tokens: TokenSequence
) -> Finding | None:
    """E05 behind a prompt: its text comes back whole, its last tokens do not.

    Args:
        earlier: the request before.
        prompt: the later request.
        rendered: its text.
        tokens: its tokens.
    """
    shared = earlier.tokens.shared(tokens)
    if shared == len(earlier.tokens):
        return None
    before = earlier.rendered.text
    if not rendered.text.startswith(before):
        return None
    lost = len(earlier.tokens) - shared
    return _finding("E05", prompt, rendered, len(before), lost=lost)


def reply_seam(
    earlier: Earlier, prompt: Prompt, rendered: Rendered, tokens: TokenSequence
) -> Finding | None:
    """S11 or E05 behind a reply: it comes back changed, or its tokens are cut elsewhere.

    Args:
        earlier: the request before, its reply recorded.
        prompt: the later request.
        rendered: its text.
        tokens: its tokens.
    """
    if earlier.reply is None:
        return None
    shared = earlier.reply.shared(tokens)
    lost = len(earlier.reply) - shared
    if not lost or shared < len(earlier.tokens) - _CLOSING:
        return None
    before, after = earlier.rendered.text + earlier.generated, rendered.text
    agreed = common_head(before, after)
    code = "E05" if _closed(before[agreed:]) else "S11"
    if code == "E05" and lost <= _CLOSING:
        return None
    at = len(earlier.rendered.text) if code == "E05" else agreed
    note = f"{lost:,} tokens of the reply"
    return _finding(code, prompt, rendered, at, lost=lost, note=note)


def _closed(rest: str) -> bool:
    """Whether nothing but the end-of-turn token is left of a reply."""
    return not rest or (rest.startswith("<|") and rest.endswith("|>"))


def _finding(
    code: str, prompt: Prompt, rendered: Rendered, at: int, *, lost: int, note: str = ""
) -> Finding | None:
    block = _block(prompt, rendered, at)
    if block is None:
        return None
    return Finding(
        code=code,
        severity="break" if code == "S11" else "cost",
        confidence="confirmed" if rendered.exact else "suspected",
        path=leaf_path(prompt.body, block, _leaf(block)),
        byte=block.start,
        tokens_lost=lost,
        message=message_of(code, note),
    )


def _block(prompt: Prompt, rendered: Rendered, at: int) -> Block | None:
    """The model's block at a character; between two, the one that the text goes on with."""
    text = rendered.text
    for place in range(at, min(len(text), at + 64)):
        number = rendered.block_at(place)
        if number is not None and prompt.blocks[number].role == "assistant":
            return prompt.blocks[number]
    for place in range(at - 1, max(0, at - 64), -1):
        number = rendered.block_at(place)
        if number is not None and prompt.blocks[number].role == "assistant":
            return prompt.blocks[number]
    return None


def _leaf(block: Block) -> Keys:
    value = jsontext.decode(block.canonical)
    if not isinstance(value, dict):
        return ()
    if "text" in value:
        return ("text",)
    for keys in _ARGUMENTS:
        inner: Json = value
        for key in keys:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if inner is not None:
            return keys
    return ("thinking",) if "thinking" in value else ()
