"""An engine's own cache model as the prefix cache of a replica."""

from dataclasses import replace

from cachediag.analysis.engines import CacheModel
from cachediag.errors import UsageError
from cachediag.simulate.model import Request

__all__ = ["EngineCache"]


class EngineCache:
    """Asks an engine's model for each request as its prefill begins.

    The model is not told when a response begins or ends, for that is not known yet: what the engine
    keeps of the reply it keeps at once, and nothing is held on to while a request runs.

    Args:
        model: an empty one of the replica's own.
    """

    def __init__(self, model: CacheModel) -> None:
        self._model = model
        self._served = 0

    def begin(self, request: Request, now: float) -> int:
        """Reuse what the engine would.

        Raises:
            UsageError: the request has no tokens that a model could be asked for.
        """
        if request.asked is None:
            raise UsageError(
                f"{self._model.name} cannot be asked for requests that have no text",
                remedy="Leave the engine out: replicas then keep blocks.",
            )
        asked = replace(request.asked, index=self._served, started=now, first_byte=None, ended=None)
        self._served += 1
        return max(0, min(self._model.serve(asked).reused, request.input_tokens - 1))

    def end(self, request: Request, now: float) -> None:
        """The model has kept what it keeps."""

    def held(self, blocks: tuple[int, ...]) -> int:  # noqa: ARG002
        """Nothing: the model is not made of these blocks."""
        return 0
