"""Estimated counts set right by the prompt tokens that responses report."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cachediag.analysis.analysed import Analysed
from cachediag.analysis.tokenview import TokenView
from cachediag.model import ExchangeInfo
from cachediag.tokens.tokenizers import Tokenizer
from cachediag.tokens.tokenizers.claude import Claude, scale_of

__all__ = ["Calibration", "calibrated", "scaled_view"]

_PLAUSIBLE = 4.0
"""No tokenizer counts so many times more or fewer tokens: such a report is made up."""
_ANY = "claude"
"""The estimate's name where no model was named."""


@dataclass(slots=True)
class _Totals:
    """Of some requests, the tokens counted and the tokens reported."""

    counted: int = 0
    reported: int = 0


class Calibration:
    """How many tokens a model's own tokenizer makes of one that was estimated.

    Within a lane the mix of text hardly changes, so each lane has a factor of its own, for each
    model that it asks. It costs the same however many requests there are.

    Args:
        tokenizer: what counts. Its counts are left alone unless they are the estimate for Claude.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._estimate = tokenizer if isinstance(tokenizer, Claude) else None
        self._lanes: dict[tuple[str, str | None], _Totals] = {}
        self._models: dict[str | None, _Totals] = {}
        self.usages = 0
        """How many reports are gone by."""

    def add(self, lane: str, info: ExchangeInfo, counted: int) -> None:
        """Go by what a response reports from now on, if it reports what a tokenizer explains.

        Args:
            lane: whose request it is.
            info: the exchange.
            counted: the tokens that were counted in its prompt.
        """
        reported = _reported(info)
        if self._estimate is None or not counted or not reported:
            return
        if not 1 / _PLAUSIBLE <= reported / counted <= _PLAUSIBLE:
            return
        self.usages += 1
        for totals in (
            self._lanes.setdefault((lane, info.model), _Totals()),
            self._models.setdefault(info.model, _Totals()),
        ):
            totals.counted += counted
            totals.reported += reported

    def factor(self, lane: str, model: str | None) -> float:
        """What to multiply the counts of a lane's requests by.

        Args:
            lane: the lane. One without a report goes by those of all lanes that ask the same
                model, and else by what is known of the model's tokenizer.
            model: the model that is asked.
        """
        if self._estimate is None:
            return 1.0
        totals = self._lanes.get((lane, model)) or self._models.get(model)
        if totals is not None:
            return totals.reported / totals.counted
        if self._estimate.name == _ANY and model is not None:
            return scale_of(model) / self._estimate.scale
        return 1.0


def _reported(info: ExchangeInfo) -> int:
    """The prompt tokens that a response reports, cached ones included; 0 where it reports none."""
    usage = info.usage
    if usage is None or usage.input_tokens is None:
        return 0
    if info.endpoint != "messages":
        # The OpenAI protocols count the cached tokens among them.
        return usage.input_tokens
    return usage.input_tokens + (usage.cache_read or 0) + (usage.cache_creation or 0)


def calibrated(requests: Iterable[Analysed], tokenizer: Tokenizer) -> Iterator[Analysed]:
    """Each request with its counts set right by what was reported up to it.

    Args:
        requests: of a session that may still go on.
        tokenizer: what counted.
    """
    calibration = Calibration(tokenizer)
    for request in requests:
        calibration.add(request.lane, request.info, request.prompt_tokens)
        yield request.scaled(calibration.factor(request.lane, request.info.model))


def scaled_view(view: TokenView, factor: float) -> TokenView:
    """The token view of a pair with every count multiplied."""
    if factor == 1.0:
        return view
    steps, reached = [], view.shared
    for cause, gained in view.steps:
        further = reached + gained
        steps.append((cause, round(further * factor) - round(reached * factor)))
        reached = further
    return replace(
        view,
        a=round(view.a * factor),
        b=round(view.b * factor),
        shared=round(view.shared * factor),
        reusable=round(view.reusable * factor),
        lost={cause: round(tokens * factor) for cause, tokens in view.lost.items()},
        steps=tuple(steps),
    )
