"""Whether a rule takes what a user or the model wrote for what a client put there."""

import re
from collections.abc import Sequence

from cachediag.errors import CachediagError
from cachediag.model import Block, Prompt
from cachediag.protocol import jsontext
from cachediag.rules.engine.applied import Change
from cachediag.rules.engine.guard import may_touch
from cachediag.rules.engine.places import Place, places
from cachediag.rules.engine.texts import block_text, pieces
from cachediag.rules.pattern import compiled
from cachediag.rules.rule import Rule

__all__ = ["is_of_others", "look_alike"]

_TALK = ("messages[", "input[")
_MESSAGE = re.compile(r"(?:messages|input)\[(\d+)\]")
_OTHERS = ("user", "assistant", "tool", "function")


def look_alike(rule: Rule, sent: Prompt) -> str | None:
    """Where a rule matches text of a user, of the model or of a tool, which it may not change.

    Such text is left alone when rules are applied, so that all the rule does there is to rest on
    that.

    Args:
        rule: the rule.
        sent: the request as it was sent.

    Returns:
        The JSON path of the first such place; None where there is none.
    """
    if rule.protocol != sent.endpoint or not rule.path.startswith(_TALK):
        return None
    if rule.action == "keep-inline":
        # Looks at the role alone.
        return None
    found = (
        place.path
        for place in places(sent.body, rule.path)
        if not may_touch(sent.body, rule, place) and _matches(sent.body, rule, place)
    )
    return next(found, None)


def _matches(body: bytes, rule: Rule, place: Place) -> bool:
    try:
        if rule.action == "sort" and rule.by in ("name", "keys"):
            return body[place.span.start : place.span.start + 1] in (b"{", b"[")
        if rule.action == "drop-block" or rule.pattern is None:
            text = block_text(body, place)
            if text is None or rule.pattern is None:
                return text is not None
            return compiled(rule.pattern).matches_whole(text)
        return next(pieces(body, place, rule.pattern), None) is not None
    except CachediagError:
        return False


def is_of_others(rule: Rule, change: Change, sent: Prompt) -> bool:
    """Whether a change touches what a user, the model or a tool wrote, beyond the rule's flags.

    Judged by the prompt's blocks, and so apart from what keeps rules away from such text when they
    are applied.

    Args:
        rule: the rule.
        change: one of its changes.
        sent: the request as it was sent.
    """
    number = _MESSAGE.match(change.path)
    if number is None:
        return False
    own = _message(sent, int(number[1]))
    touched = (block for block in own if _holds(block, change.path))
    return any(block.role in _OTHERS and not _allowed(rule, block, own, sent) for block in touched)


def _message(sent: Prompt, number: int) -> tuple[Block, ...]:
    """The blocks of one message; none where it is part of the system prompt."""
    for run in sent.runs:
        if run.section == "messages" and run.indexes is not None and number in run.indexes:
            return run.place(run.indexes.index(number))
    return ()


def _holds(block: Block, path: str) -> bool:
    return _below(path, block.path) or _below(block.path, path)


def _below(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _allowed(rule: Rule, block: Block, own: Sequence[Block], sent: Prompt) -> bool:
    if block.kind == "tool_use":
        return rule.arguments and rule.action == "sort"
    if not rule.messages or block.role != "user" or block.kind not in ("text", "input_text"):
        return False
    is_last = block == [other for other in own if other.kind == block.kind][-1]
    text = str(jsontext.decode(block.canonical).get("text", ""))
    return text.lstrip().startswith("<") or (block.message == _first_of_user(sent) and not is_last)


def _first_of_user(sent: Prompt) -> int | None:
    """Which message is the first that holds anything of the user's."""
    for run in sent.runs:
        if run.section == "messages" and run.indexes is not None:
            for number, part in zip(run.indexes, run.parts, strict=True):
                if any(block.role == "user" for block in part.blocks):
                    return number
    return None
