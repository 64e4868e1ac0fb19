"""What a hosted cache looks at beside the tokens: blocks and cache breakpoints."""

from dataclasses import replace

from cachediag.analysis.engines.model import Breakpoint, CacheRequest, PromptBlock
from cachediag.model import Block, Prompt
from cachediag.render.rendered import Rendered
from cachediag.tokens.encoder import Encoder

__all__ = ["with_blocks"]


def with_blocks(
    asked: CacheRequest,
    prompt: Prompt,
    rendered: Rendered,
    encoder: Encoder,
    *,
    token_factor: float = 1.0,
) -> CacheRequest:
    """The request with its blocks and breakpoints.

    Args:
        asked: the request without them.
        prompt: its prompt, in hosted order.
        rendered: the text that stands for it.
        encoder: the session's encoder.
        token_factor: how many tokens the model's own tokenizer makes of one of the encoder's.
    """
    # Segments that are encoded in one with their neighbours make fewer tokens than alone.
    ends = [min(end, len(asked.tokens)) for end in _ends(prompt, rendered, encoder)]
    blocks = tuple(
        PromptBlock(end, block.section, block.kind, block.role, block.message)
        for block, end in zip(prompt.blocks, ends, strict=True)
    )
    return replace(
        asked,
        blocks=blocks,
        breakpoints=tuple(
            Breakpoint(number, "1h" if block.marker.ttl == "1h" else "5m")
            for number, block in enumerate(prompt.blocks)
            if block.marker is not None
        ),
        has_images=any(_is_image(block) for block in prompt.blocks),
        token_factor=token_factor,
    )


def _is_image(block: Block) -> bool:
    return block.kind == "image" or b'"type":"image"' in block.canonical


def _ends(prompt: Prompt, rendered: Rendered, encoder: Encoder) -> list[int]:
    """Tokens of the prompt up to the end of each block.

    Inside a segment tokens are shared out by characters: only an estimate is at hand anyway.
    """
    ends = [0] * len(prompt.blocks)
    at = 0
    for segment, first in zip(rendered.segments, rendered.firsts, strict=True):
        tokens = sum(len(chunk.ids) for chunk in encoder.chunks(segment.text))
        characters = 0
        for text, block in segment.pieces:
            characters += len(text)
            if block is not None:
                share = characters / len(segment.text)
                ends[first + block] = at + round(tokens * share)
        at += tokens
    for number in range(1, len(ends)):
        ends[number] = max(ends[number], ends[number - 1])
    return ends
