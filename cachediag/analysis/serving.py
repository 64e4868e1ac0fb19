"""A rendered prompt and its recorded exchange → what a local engine's cache is asked.

Only new text costs: tokens are those that the encoder remembers, and a place in the prompt is
found by counting the chunks from the nearer end.
"""

import re
from bisect import bisect_right
from hashlib import blake2b

from cachediag.analysis.engines.model import CacheRequest
from cachediag.errors import InputError
from cachediag.heads import common_head
from cachediag.model import ExchangeInfo, Json, Prompt
from cachediag.protocol import jsontext
from cachediag.protocol.reply import Reply
from cachediag.render.rendered import Piece, Rendered
from cachediag.render.templates import Template
from cachediag.render.turns import Call, Talk, Turn
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.sequence import TokenSequence

__all__ = ["cache_request", "generated_text"]

_THINK = "<think>"
_NO_THOUGHT = re.compile(r"\A<think>\s*</think>\s*")
_TAIL = 11
"""How many tokens before the end mlx-lm looks for a thinking tag."""
_TAIL_CHARACTERS = 512
_MARK = "\ue000"
# Made once: a template remembers each turn that it has printed.
_QUESTION = Turn.of("user", (Piece("", 0),))
_MARKED = Turn.of("assistant", (Piece(_MARK, 0),))


def cache_request(
    prompt: Prompt,
    rendered: Rendered,
    encoder: Encoder,
    *,
    index: int,
    lane: str,
    shared: int = 0,
    tokens: TokenSequence | None = None,
    generated: str | None = None,
    info: ExchangeInfo | None = None,
) -> CacheRequest:
    """What the cache of a local engine is asked for one request.

    Args:
        prompt: the request as it was parsed.
        rendered: what the backend's profile makes of it.
        encoder: the session's encoder, with the model's tokenizer.
        index: the request's number.
        lane: whose request it is.
        shared: tokens that the prompt shares with the earlier prompt, or prompt and reply, that
            shares most with it.
        tokens: the rendered prompt's tokens where the caller has them: what
            `encoder.sequence` makes of its segments' texts.
        generated: all text that the model generated, special tokens included, as
            `generated_text` gives it; None where it was not recorded.
        info: the recorded exchange, for its times; None plays the requests one after another.

    Returns:
        The request, without `blocks`, `breakpoints` and `has_images`, which the models of hosted
        caches alone look at.
    """
    if tokens is None:
        tokens = encoder.sequence(rendered.texts, rendered.talk)
    system_length, system_shared, system_key = _system(rendered, tokens, encoder)
    params = prompt.params
    return CacheRequest(
        index=index,
        lane=lane,
        tokens=tokens,
        endpoint=prompt.endpoint,
        model=prompt.model,
        started=info.started if info else None,
        first_byte=info.first_byte if info else None,
        ended=info.ended if info else None,
        shared=shared,
        system_length=system_length,
        system_shared=system_shared,
        system_key=system_key,
        history_length=_history(rendered, tokens, encoder),
        tail_length=_tail(rendered, encoder),
        reply=None if generated is None else _replied(rendered, tokens, encoder, generated),
        stream=params.get("stream") == b"true",
        has_tools=any(run.section == "tools" and run.parts for run in prompt.runs),
        params=params,
    )


def _system(rendered: Rendered, tokens: TokenSequence, encoder: Encoder) -> tuple[int, int, bytes]:
    """Of the system prefix: its tokens, how many of them begin the prompt, and its digest.

    The first and the last say nothing where not all of them do.
    """
    if not rendered.prefix:
        return 0, 0, b""
    number = bisect_right(rendered.starts, rendered.prefix) - 1
    texts = list(rendered.texts[:number])
    if rest := rendered.prefix - rendered.starts[number]:
        texts.append(rendered.texts[number][:rest])
    head = encoder.sequence(texts, rendered.talk)
    shared = head.shared(tokens)
    if shared < len(head):
        return 0, shared, b""
    digests = b"".join([chunk.digest for chunk in head.chunks])
    return shared, shared, blake2b(digests, digest_size=16).digest()


def _history(rendered: Rendered, tokens: TokenSequence, encoder: Encoder) -> int:
    """Tokens before the text of the last message; 0 where that is not a user's."""
    end = rendered.last_user
    if not end:
        return 0
    number = bisect_right(rendered.starts, end) - 1
    start = rendered.starts[number]
    opening = rendered.texts[number][: end - start]
    at = _chunk_at(tokens, rendered.starts[-1] - start)
    if at is None:
        head = encoder.sequence([*rendered.texts[:number], opening])
        return head.shared(tokens)
    own, rest = TokenSequence(encoder.chunks(opening)), TokenSequence(tokens.chunks[at:])
    return tokens.starts[at] + own.shared(rest)


def _replied(
    rendered: Rendered, tokens: TokenSequence, encoder: Encoder, generated: str
) -> TokenSequence:
    """The prompt and what was generated after it.

    The reply is encoded in one text with the generation prompt, as the history of the next request
    will have it.
    """
    last = rendered.texts[-1] if rendered.texts else ""
    at = _chunk_at(tokens, len(last)) if last else None
    if at is None:
        return encoder.sequence([*rendered.texts[:-1], last + generated])
    joined = TokenSequence([*tokens.chunks[:at], *encoder.chunks(last + generated)])
    if joined.shared(tokens) == len(tokens):
        return joined
    # The reply would join the prompt's last token, which was fed before there was a reply.
    return TokenSequence([*tokens.chunks, *encoder.chunks(generated)])


def _chunk_at(tokens: TokenSequence, characters: int) -> int | None:
    """The chunk that begins so many characters before the end; None where none does."""
    at = len(tokens.chunks)
    while characters > 0:
        at -= 1
        characters -= tokens.chunks[at].size
    return at if characters == 0 else None


def _tail(rendered: Rendered, encoder: Encoder) -> int:
    """Tokens from the last thinking tag to the end, if the prompt ends with few of them."""
    if _THINK not in encoder.tokenizer.special or not rendered.texts:
        return 0
    last = rendered.texts[-1][-_TAIL_CHARACTERS:]
    at = last.rfind(_THINK)
    length = len(encoder.sequence([last[at:]])) if at >= 0 else 0
    return length if length <= _TAIL else 0


def generated_text(reply: Reply, template: Template, encoder: Encoder) -> str | None:
    """The text that the model generated, special tokens included, for a reply to be read.

    Servers take thinking and tool calls out of the text and give them back decoded; they are
    written here as the template prints them, which is the form that its model was trained on.

    Args:
        reply: what the response carried.
        template: the model's chat template.
        encoder: the session's encoder, with the model's tokenizer.

    Returns:
        None where it cannot be told: a tool call was cut off, or the template refuses it.
    """
    if reply.calls and not reply.ended:
        return None
    try:
        before, tail = _frame(template)
        text = _printed(reply, template, before, tail)
    except InputError:
        return None
    end = next((name for name in encoder.tokenizer.special if tail.startswith(name)), "")
    return text + end if reply.ended else text


def _frame(template: Template) -> tuple[str, str]:
    """A prompt before its reply, and what the template puts behind one."""
    before, after = template.render(_talk()).text, template.render(_talk(_MARKED)).text
    return before, after.rpartition(_MARK)[2]


def _printed(reply: Reply, template: Template, before: str, tail: str) -> str:
    if not reply.calls and not reply.thinking:
        return reply.text
    text = template.render(_talk(_turn(reply))).text
    text = text[common_head(before, text) : len(text) - len(tail)]
    # Templates that print an empty thought were not told so by the model.
    return text if reply.thinking else _NO_THOUGHT.sub("", text, count=1)


def _talk(*replies: Turn) -> Talk:
    return Talk((), (_QUESTION, *replies), (0,) * (1 + len(replies)), systems=())


def _turn(reply: Reply) -> Turn:
    # Templates put a line end between text and call.
    text = reply.text.removesuffix("\n") if reply.calls else reply.text
    calls = [
        Call(call.name, _decoded(call.arguments), 0, id=str(number), spelled=call.arguments)
        for number, call in enumerate(reply.calls)
    ]
    thinking = Piece(reply.thinking, 0) if reply.thinking else None
    return Turn.of("assistant", (Piece(text, 0),), calls, thinking=thinking)


def _decoded(arguments: str) -> Json:
    try:
        return jsontext.decode(arguments.encode("utf-8", "surrogatepass")) if arguments else {}
    except InputError:
        return arguments
