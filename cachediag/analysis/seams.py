"""Where a prompt goes on from an earlier one, or from its reply: the findings E05 and S11.

Both need what two bodies alone do not hold: tokens, and the reply as it was generated.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cachediag.analysis.tokenview import Counter, TokenView
from cachediag.compare.comparison import Comparison, Keys
from cachediag.compare.places import leaf_path
from cachediag.compare.undo import undone_body
from cachediag.compare.wording import message_of
from cachediag.heads import common_head
from cachediag.model import Block, Finding, Json, Prompt
from cachediag.protocol import jsontext
from cachediag.render.rendered import Rendered
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.sequence import TokenSequence

__all__ = [
    "KEEP_REPLIES",
    "Earlier",
    "Seam",
    "mended_seam",
    "pair_seam",
    "prompt_seam",
    "reply_seam",
]

KEEP_REPLIES = frozenset(("llama.cpp", "lm-studio", "mlx-lm", "ollama", "omlx", "sglang", "vllm"))
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


@dataclass(frozen=True, slots=True)
class Seam:
    """What was lost where a request goes on from the one before."""

    finding: Finding
    block: Block
    """What the model said, as it comes back."""
    start: int
    """Tokens of the later prompt up to where it is lost."""
    end: int
    """Tokens up to the end of what is lost: were it as it was, so many would be found in the
    cache."""


def prompt_seam(
    earlier: Earlier, prompt: Prompt, rendered: Rendered, tokens: TokenSequence
) -> Seam | None:
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
    block = _block(prompt, rendered, len(before))
    if block is None:
        return None
    # The token that joins both stands across the end: it would be fed in any case.
    lost = len(earlier.tokens) - shared
    return Seam(_finding("E05", prompt, rendered, block, lost=lost), block, shared, shared)


def pair_seam(comparison: Comparison, view: TokenView, counter: Counter) -> Seam | None:
    """E05 where one of two bodies goes on from the other.

    None where a cause in the text broke the prefix, and where tokens are an estimate.

    Args:
        comparison: the pair.
        view: the same in tokens.
        counter: renders and encodes as the backend does.
    """
    exact = counter.encoder.tokenizer.exact
    if comparison.breaks or view.shared == view.a or not exact:
        return None
    first, second = (counter.rendered(prompt) for prompt in comparison.sent)
    earlier = Earlier(first, counter.sequence(first))
    return prompt_seam(earlier, comparison.b, second, counter.sequence(second))


def reply_seam(
    earlier: Earlier,
    prompt: Prompt,
    rendered: Rendered,
    tokens: TokenSequence,
    encoder: Encoder,
) -> Seam | None:
    """S11 or E05 behind a reply: it comes back changed, or its tokens are cut elsewhere.

    Args:
        earlier: the request before, its reply recorded.
        prompt: the later request.
        rendered: its text.
        tokens: its tokens.
        encoder: the session's encoder.
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
    block = _block(prompt, rendered, at)
    if block is None:
        return None
    note = f"{lost:,} tokens of the reply"
    found = _finding(code, prompt, rendered, block, lost=lost, note=note)
    closing = next((name for name in encoder.tokenizer.special if before.endswith(name)), "")
    end = _end_of_message(prompt, rendered, block, at, closing)
    reached = max(shared, _tokens_to(end, rendered, tokens, encoder))
    return Seam(found, block, shared, reached)


def mended_seam(
    earlier: Earlier, held: Comparison, prompt: Prompt, tokens: TokenSequence, counter: Counter
) -> Seam | None:
    """S11 or E05 behind a reply, where the text broke before it: found with the breaks undone.

    Args:
        earlier: the request before, its reply recorded.
        held: it and the later request.
        prompt: the later request.
        tokens: its tokens.
        counter: renders and encodes as the backend does.
    """
    causes = {(found.code, found.path) for found in held.breaks}
    mended = counter.parser.parse(undone_body(held, causes), prompt.endpoint)
    rendered = counter.rendered(mended)
    whole = counter.sequence(rendered)
    seam = reply_seam(earlier, mended, rendered, whole, counter.encoder)
    if seam is None:
        return None
    as_sent = next((each for each in prompt.blocks if each.path == seam.block.path), None)
    if as_sent is None or as_sent.role != seam.block.role:
        return None
    # What stands behind the reply is the same in both.
    moved = len(tokens) - len(whole)
    found = replace(seam.finding, byte=as_sent.start)
    return Seam(found, as_sent, max(0, seam.start + moved), max(0, seam.end + moved))


def _closed(rest: str) -> bool:
    """Whether nothing but the end-of-turn token is left of a reply."""
    return not rest or (rest.startswith("<|") and rest.endswith("|>"))


def _finding(
    code: str, prompt: Prompt, rendered: Rendered, block: Block, *, lost: int, note: str = ""
) -> Finding:
    return Finding(
        code=code,
        severity="break" if code == "S11" else "cost",
        confidence="confirmed" if rendered.exact else "suspected",
        path=leaf_path(prompt.body, block, _leaf(block)),
        byte=block.start,
        tokens_lost=lost,
        message=message_of(code, note),
    )


def _end_of_message(prompt: Prompt, rendered: Rendered, block: Block, at: int, closing: str) -> int:
    """Characters up to the end of a block's message, without the token that closes a turn.

    Args:
        prompt: the request.
        rendered: its text.
        block: one of the message's blocks.
        at: an offset in the message.
        closing: the token that ends a turn.
    """
    end = at
    for place, number in _pieces_after(rendered, at):
        if number is not None and prompt.blocks[number].message != block.message:
            break
        end = place if number is not None else end
    cut = rendered.text.rfind(closing, at, end) if closing else -1
    return end if cut < 0 else cut


def _pieces_after(rendered: Rendered, at: int) -> Iterator[tuple[int, int | None]]:
    """Where each piece ends that ends behind a character, and its block."""
    number = max(0, bisect_right(rendered.starts, at) - 1)
    place = rendered.starts[number]
    for segment, first in zip(rendered.segments[number:], rendered.firsts[number:], strict=True):
        for text, block in segment.pieces:
            place += len(text)
            if place > at:
                yield place, None if block is None else first + block


def _tokens_to(end: int, rendered: Rendered, tokens: TokenSequence, encoder: Encoder) -> int:
    """Tokens of a prompt up to a character, as far as they end before it; cheap near its end."""
    at, left = len(tokens.chunks), rendered.starts[-1] - end
    while left > 0:
        at -= 1
        left -= tokens.chunks[at].size
    if not left:
        return tokens.starts[at]
    # So many characters of that chunk stand before it.
    head = rendered.text[end + left : end]
    inside = TokenSequence(encoder.chunks(head)).shared(TokenSequence([tokens.chunks[at]]))
    return tokens.starts[at] + inside


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
