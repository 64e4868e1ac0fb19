"""Where a prompt's system prefix ends, and where its last message ends.

The marks are found once, by rendering made-up messages, and looked for among the tokens of each
prompt. A mark that is found in the wrong place costs time and nothing else: what is reused is
decided by the tokens alone.
"""

from collections.abc import Sequence
from typing import Any

__all__ = ["Marks", "encode", "marks", "takes_system_anywhere"]

_SYSTEM, _USER = "Zebras sleep standing", "Kites need wind"
_NEAR_THE_END = 64


class Marks:
    """The tokens that begin a user's message, and those that begin a reply.

    Args:
        opening: between a system prompt and the first message; empty where nothing is always there.
        reply: after the last message; empty where nothing is always there.
    """

    def __init__(self, opening: Sequence[int], reply: Sequence[int]) -> None:
        self.opening = tuple(opening)
        self.reply = tuple(reply)

    def system_end(self, tokens: tuple[int, ...]) -> int:
        """How many tokens the system prefix has; 0 where it cannot be told."""
        place = _first(tokens, self.opening)
        return 0 if place is None else place + len(self.opening)

    def history_end(self, tokens: tuple[int, ...]) -> int | None:
        """Where the last message ends and the reply is asked for; None where it cannot be told."""
        size = len(self.reply)
        for place in range(len(tokens) - size, max(0, len(tokens) - _NEAR_THE_END) - 1, -1):
            if size and tokens[place : place + size] == self.reply:
                return place
        return None


def encode(tokenizer: Any, prompt: Any) -> tuple[int, ...]:
    """The tokens of a prompt as mlx-lm makes them of a text, or takes them."""
    if not isinstance(prompt, str):
        return tuple(int(token) for token in (getattr(prompt, "tolist", lambda: prompt)()))
    bos = getattr(tokenizer, "bos_token", None)
    special = bos is None or not prompt.startswith(bos)
    return tuple(tokenizer.encode(prompt, add_special_tokens=special))


def marks(tokenizer: Any) -> Marks:
    """Find a chat template's marks. Where there is no such template there are none."""
    system, user = {"role": "system", "content": _SYSTEM}, {"role": "user", "content": _USER}
    whole = _rendered(tokenizer, [system, user], reply=True)
    plain = _rendered(tokenizer, [user], reply=False)
    asked = _rendered(tokenizer, [user], reply=True)
    _, found, rest = whole.partition(_SYSTEM)
    opening = rest.partition(_USER)[0] if found and _USER in rest else ""
    reply = asked[len(plain) :] if asked.startswith(plain) else ""
    return Marks(_stable(tokenizer, opening), _head(tokenizer, reply))


def takes_system_anywhere(tokenizer: Any) -> bool:
    """Whether a chat template writes a system message inside a conversation where it stands."""
    said = [f"{_USER} {number}" for number in range(5)]
    roles = ("system", "user", "assistant", "system", "user")
    messages = [
        {"role": role, "content": text}
        for role, text in zip(roles, said)  # noqa: B905 - as many
    ]
    places = [_rendered(tokenizer, messages, reply=True).find(text) for text in said]
    return places[0] >= 0 and places == sorted(places)


def _rendered(tokenizer: Any, messages: list[dict[str, str]], *, reply: bool) -> str:
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=reply)
    except Exception:  # noqa: BLE001 - a template raises what it likes, such as that it wants no system
        return ""
    return text if isinstance(text, str) else ""


def _stable(tokenizer: Any, text: str) -> Sequence[int]:
    """The tokens of a text that stay the same whatever stands around it."""
    tokens = _ids(tokenizer, text)
    while tokens and not tokenizer.decode([tokens[-1]]).strip():
        tokens = tokens[:-1]
    around = [f"A few words.{text}\n\n1. Hello", f"</tools>{text}Zq", f"x{text} {{}}"]
    if tokens and all(_first(_ids(tokenizer, each), tokens) is not None for each in around):
        return tokens
    return ()


def _head(tokenizer: Any, text: str) -> Sequence[int]:
    """The tokens of a text up to the first white space."""
    tokens = _ids(tokenizer, text)
    for place, token in enumerate(tokens):
        if not tokenizer.decode([token]).strip():
            return tokens[:place]
    return tokens


def _ids(tokenizer: Any, text: str) -> tuple[int, ...]:
    return tuple(tokenizer.encode(text, add_special_tokens=False))


def _first(tokens: tuple[int, ...], part: Sequence[int]) -> int | None:
    if not part:
        return None
    place = -1
    while True:
        try:
            place = tokens.index(part[0], place + 1)
        except ValueError:
            return None
        if tokens[place : place + len(part)] == tuple(part):
            return place
