"""Whether a request that goes on from no conversation holds an edited one.

A recording often begins in the middle of a conversation: then the first request that it holds ends
with whatever was newest at that time, and an edit of just that, or of what stands before it, leaves
neither the task in its place nor anything that the model said since.
"""

import re
from functools import lru_cache

from cachediag.analysis.traits import Traits
from cachediag.heads import common_head
from cachediag.model import Block, Part
from cachediag.protocol import jsontext

__all__ = ["is_edit"]

_IMAGES = ("image", "image_url", "input_image")
_REMEMBERED = 4096
_COUNTED = re.compile(r"(?:\A|[\W_])\d{1,3}\Z")


def is_edit(now: Traits, first: Traits, latest: Traits) -> bool:
    """Whether a request is a conversation of before in an edited form.

    Asked only of a request of the same sender that continues no conversation. What cannot be told
    from a new conversation that opens with the same words is none: where the two part at the start
    of the newest message, all before it may be canned.

    Args:
        now: the request.
        first: the conversation's first request.
        latest: its latest one.
    """
    if not first.talk or not now.talk:
        return False
    message, blocks = _parting(now, first)
    if message == len(first.talk) - 1 and not blocks and not _answers_a_call(first.talk[-1]):
        return False
    return (
        bool(_calls(now) & _calls(latest))
        or _went_on(now, latest)
        or _went_back(now, first, message, blocks)
        or _lost_an_image(now, first)
    )


def _answers_a_call(part: Part) -> bool:
    return any(block.kind == "tool_result" for block in part.blocks)


def _parting(now: Traits, first: Traits) -> tuple[int, int]:
    """The message in which two talks part, and how many of its blocks they share still."""
    mine, other = (tuple(part.digest for part in each.talk) for each in (now, first))
    message = common_head(mine, other)
    if message == min(len(mine), len(other)):
        return message, 0
    return message, _shared_blocks(now.talk[message], first.talk[message])


def _shared_blocks(mine: Part, other: Part) -> int:
    own, held = (
        tuple((block.role, block.canonical) for block in part.blocks) for part in (mine, other)
    )
    return common_head(own, held)


def _calls(traits: Traits) -> frozenset[object]:
    """The model's tool calls, by their ids, which are drawn anew for each call."""
    return frozenset(call for part in traits.talk for call in _called(part))


@lru_cache(maxsize=_REMEMBERED)
def _called(part: Part) -> tuple[object, ...]:
    return tuple(_id(block) for block in part.blocks if block.kind == "tool_use")


def _id(call: Block) -> object:
    value = jsontext.decode(call.canonical)
    drawn = value.get("call_id", value.get("id")) if isinstance(value, dict) else None
    # Some servers count the calls of a conversation: only the whole call tells there.
    counted = not isinstance(drawn, str) or _COUNTED.search(drawn)
    return call.canonical if counted else drawn


def _went_on(now: Traits, latest: Traits) -> bool:
    """Whether the newest message of before was answered, and what led to it is held in part."""
    newest = latest.talk[-1].digest
    answered = any(part.digest == newest for part in now.talk[:-1])
    return answered and bool(now.said() & latest.said())


def _went_back(now: Traits, first: Traits, message: int, blocks: int) -> bool:
    """Whether the talks part within the history, behind something that the model said.

    Agents with one standing task are sent it at the end of ever new histories.
    """
    if message >= len(first.talk) - 1 or now.task == first.task:
        return False
    said = any(part.role == "assistant" for part in first.talk[:message])
    return said or (blocks > 0 and first.talk[message].role == "assistant")


def _lost_an_image(now: Traits, first: Traits) -> bool:
    """Whether the first request ended with an image that has gone since, or became something else.

    Its own message stands in its place, up to the image, and was answered.
    """
    at = len(first.talk) - 1
    if len(now.talk) <= at + 1:
        return False
    mine, other = now.talk[at], first.talk[at]
    if not other.blocks or other.blocks[-1].kind not in _IMAGES:
        return False
    before = len(other.blocks) - 1
    same = _shared_blocks(mine, other) == before
    return same and all(block.kind not in _IMAGES for block in mine.blocks[before:])
