"""Who wrote what a rule is about to change: no text of a user or of the model is touched."""

import re

from cachediag.protocol import jsontext
from cachediag.rules.engine.places import Place, items, member, remembered
from cachediag.rules.engine.texts import block_text
from cachediag.rules.rule import Rule

__all__ = ["may_touch", "messages_before", "role_at"]

_TALK = ("messages", "input")
_SYSTEM = ("system", "developer")
# Clients put what they add to the user's words between tags, as <system-reminder>.
_TAGGED = re.compile(r"\s*<[A-Za-z]")


def may_touch(body: bytes, rule: Rule, place: Place) -> bool:
    """Whether a rule may change a place.

    Args:
        body: the whole body.
        rule: says by `messages` and `arguments` what it was allowed.
        place: a value in the body.
    """
    within = place.within()
    if len(within) < 2 or within[1].path not in _TALK:
        return True
    role = role_at(body, place)
    if role in _SYSTEM:
        return True
    if role == "assistant":
        return rule.action == "sort" and rule.by == "keys" and rule.arguments
    return role == "user" and rule.messages and _is_context(body, within)


def role_at(body: bytes, place: Place) -> str:
    """The role of the message that a place stands in; empty where it has none."""
    within = place.within()
    if len(within) < 3:
        return ""
    return remembered(body, "role", within[2].span, lambda: _role(body, within[2]))


def _role(body: bytes, message: Place) -> str:
    role = member(body, message, "role")
    value = jsontext.decode(body[role.span.start : role.span.end]) if role else None
    return value if isinstance(value, str) else ""


def _is_context(body: bytes, within: tuple[Place, ...]) -> bool:
    """Whether a text of a user message is what the client wrote around the user's own words.

    That is a text that opens with a tag, and in the first user message every text but the last.
    """
    if len(within) < 4:
        return False
    content = within[3]
    block = within[4] if len(within) > 4 else content
    text = block_text(body, block)
    if text is None:
        return False
    if _TAGGED.match(text):
        return True
    return block.index is not None and _is_first(body, within) and _has_text_behind(body, block)


def _is_first(body: bytes, within: tuple[Place, ...]) -> bool:
    """Whether no message of the user stands before."""
    talk, message = within[1], within[2]
    return message.index is not None and message.index <= messages_before(body, talk, "user")


def messages_before(body: bytes, talk: Place, role: str, *, other: bool = False) -> int:
    """How many messages stand before the first one of a role, or before that of any other role."""

    def count() -> int:
        spans = items(body, talk)
        messages = (Place("", span, talk, number) for number, span in enumerate(spans))
        found = (n for n, each in enumerate(messages) if (role_at(body, each) == role) != other)
        return next(found, len(spans))

    return remembered(body, f"messages before {role}, {other}", talk.span, count)


def _has_text_behind(body: bytes, block: Place) -> bool:
    content = block.parent
    assert content is not None
    assert block.index is not None
    return block.index < remembered(
        body, "last text", content.span, lambda: _last_text(body, content)
    )


def _last_text(body: bytes, content: Place) -> int:
    spans = items(body, content)
    numbers = range(len(spans) - 1, -1, -1)
    blocks = ((number, Place("", spans[number], content, number)) for number in numbers)
    return next((number for number, each in blocks if block_text(body, each) is not None), -1)
