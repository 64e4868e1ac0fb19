"""The conversion of servers that hand a request's turns to the template without merging them."""

from functools import partial

from cachediag.model import Json, Prompt
from cachediag.protocol import jsontext
from cachediag.render.conversion.reading import Reader, fronted
from cachediag.render.memo import Memo
from cachediag.render.turns import Talk, Turn

__all__ = ["PlainConversion"]

_FEW = 64
"""System messages that are remembered: they are long, and each request may have another."""


class PlainConversion:
    """Reads the turns of a request and puts the system message at their head.

    Args:
        reader: converts the parts as the server does.
        fronts: what stands between system texts where the server moves those of `/v1/messages`
            that stand among the messages to the front; None where it leaves them in their place.
    """

    def __init__(self, reader: Reader, *, fronts: str | None = None) -> None:
        self._reader = reader
        self._fronts = fronts
        self._fronted: Memo[tuple[tuple[Turn, int], ...], Turn] = Memo(_FEW)

    def talk(self, prompt: Prompt) -> Talk:
        """All that the template is given for a request."""
        fronts = None if prompt.endpoint == "chat" else self._fronts
        read = self._reader.messages(prompt, takes_system=fronts is not None)
        turns, firsts, systems = read.turns, read.firsts, read.systems
        system = self._reader.system(prompt)
        moved = read.moved if system is None else [system, *read.moved]
        if moved:
            turn, first = self._front(moved, fronts or "")
            turns.insert(0, turn)
            firsts.insert(0, first)
            systems = [0, *(number + 1 for number in systems)]
        return Talk(self._reader.tools(prompt), turns, firsts, systems, _options(prompt))

    def _front(self, moved: list[tuple[Turn, int]], by: str) -> tuple[Turn, int]:
        if len(moved) == 1:
            return moved[0]
        return self._fronted.get(tuple(moved), partial(fronted, by=by)), 0


def _options(prompt: Prompt) -> dict[str, Json]:
    given = jsontext.decode(prompt.params.get("chat_template_kwargs", b"null"))
    return dict(given) if isinstance(given, dict) else {}
