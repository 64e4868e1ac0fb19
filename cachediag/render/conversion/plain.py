"""The conversion of servers that hand a request's turns to the template without merging them."""

from cachediag.model import Json, Prompt
from cachediag.protocol import jsontext
from cachediag.render.conversion.reading import Reader
from cachediag.render.turns import Talk, Turn, joined, shifted

__all__ = ["PlainConversion"]


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
        self._fronted: dict[tuple[tuple[Turn, int], ...], Turn] = {}

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
        key = tuple(moved)
        if key not in self._fronted:
            texts = [shifted(turn.content, first) for turn, first in moved if turn.text]
            self._fronted[key] = Turn.of("system", joined(texts, by))
        return self._fronted[key], 0


def _options(prompt: Prompt) -> dict[str, Json]:
    given = jsontext.decode(prompt.params.get("chat_template_kwargs", b"null"))
    return dict(given) if isinstance(given, dict) else {}
