"""What the cache model says of requests that are sent one after another to one server."""

from collections.abc import Iterator
from dataclasses import replace

from cachediag.analysis.analysed import Analysed
from cachediag.analysis.analyze import analyse
from cachediag.analysis.choice import Choice
from cachediag.model import Exchange
from cachediag.verify.send import Answer

__all__ = ["Prediction"]


class Prediction:
    """A cache model that is played what a server is sent, from its start or its last clearing.

    Args:
        choice: what to count and predict by.
    """

    def __init__(self, choice: Choice) -> None:
        self._sent: list[Exchange] = []
        self._found = analyse(self._taken(), self._sent.__getitem__, choice.anew())

    def of(self, exchange: Exchange, answer: Answer) -> Analysed:
        """Play one more request.

        Args:
            exchange: the request as it was sent.
            answer: what came back: some engines keep what they generated, be it one token.

        Returns:
            The request in tokens; its index counts the requests that were played.
        """
        info = replace(
            exchange.info,
            index=len(self._sent),
            response_headers={"content-type": answer.content_type or ""},
        )
        self._sent.append(Exchange(info, exchange.request, answer.body))
        return next(self._found)

    def _taken(self) -> Iterator[Exchange]:
        # The analysis asks for one more only when there is one.
        while True:
            yield self._sent[-1]
