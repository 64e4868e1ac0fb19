"""The exchanges of recorded sessions → what a fleet is asked: tokens in blocks, heads, times."""

from collections.abc import Iterator
from dataclasses import dataclass

from cachediag.analysis.calibration import Calibration
from cachediag.analysis.choice import Choice
from cachediag.analysis.engines import CacheRequest
from cachediag.analysis.lanes import Lanes
from cachediag.analysis.serving import cache_request
from cachediag.analysis.traits import traits
from cachediag.errors import InputError
from cachediag.model import PROMPT_ENDPOINTS, Exchange, ExchangeInfo, Prompt
from cachediag.session.source import Source
from cachediag.simulate.model import Request
from cachediag.simulate.workloads.heads import AllHeads
from cachediag.simulate.workloads.keys import Keyed, keyed, root

__all__ = ["Turn", "Turns"]

_REFUSED = 400
_KEEPS_REPLIES = "sglang"


@dataclass(frozen=True, slots=True)
class Turn:
    """A recorded request that a server took."""

    info: ExchangeInfo
    request: Request
    """Its arrival is 0; its output tokens are 0 where nothing tells them."""


class Turns:
    """Counts the requests of sessions, one session after another.

    Args:
        choice: what to count by.
        block: tokens of a block.
    """

    def __init__(self, choice: Choice, block: int) -> None:
        self._choice = choice
        # Whatever cache is simulated, it may hold replies.
        self._replying = choice if choice.keeps_replies else choice.anew(_KEEPS_REPLIES)
        self._block = block
        self._heads = AllHeads()
        self._calibration = Calibration(choice.counter.encoder.tokenizer)
        self._read = 0
        self.left_out = 0
        """Requests that a server refused, and those that cannot be read."""
        self.replies = 0
        """Requests whose reply is in the blocks that may be kept."""
        self.exact = True
        """The tokens are the model's own, in the form that the backend prints."""
        self.characters = 0
        """Of all prompts."""
        self.tokens = 0
        """Likewise."""

    def of(self, source: Source, name: str = "") -> Iterator[Turn]:
        """The requests of a session, in the order in which they were recorded.

        Args:
            source: the session.
            name: put before the names of its lanes.
        """
        lanes, latest = Lanes(), dict[tuple[str, int], Keyed]()
        for exchange in source.exchanges():
            if exchange.info.endpoint not in PROMPT_ENDPOINTS:
                continue
            turn = self._turn(exchange, name, lanes, latest)
            if turn is None:
                self.left_out += 1
            else:
                yield turn

    def _turn(
        self, exchange: Exchange, name: str, lanes: Lanes, latest: dict[tuple[str, int], Keyed]
    ) -> Turn | None:
        info, counter = exchange.info, self._choice.counter
        if info.status is not None and info.status >= _REFUSED:
            return None
        try:
            prompt = counter.parser.parse(exchange.request, info.endpoint)
            place = lanes.add(info.index, traits(info, counter.profile.arrange(prompt)))
            asked = self._asked(exchange, prompt, name + place.lane)
        except InputError:
            return None
        # A hosted cache belongs to a model; a server of one's own has one model, whatever is asked.
        base = root((info.model or "") if self._choice.is_hosted else "")
        own = keyed(asked.tokens, self._block, base, latest.get((place.lane, base)))
        latest[place.lane, base] = own
        kept = None
        if asked.reply is not None:
            held = latest[place.lane, base] = keyed(asked.reply, self._block, base, own)
            # The last token is generated and never fed.
            end = max(len(asked.tokens), len(asked.reply) - 1)
            kept = held.keys[: end // self._block]
            self.replies += 1
        self.tokens += len(asked.tokens)
        made = Request(
            arrival=0.0,
            session=asked.lane,
            blocks=own.keys,
            input_tokens=len(asked.tokens),
            output_tokens=_generated(info, asked),
            kept=kept,
            heads=self._heads.of(prompt),
            asked=asked,
        )
        return Turn(info, made)

    def _asked(self, exchange: Exchange, prompt: Prompt, lane: str) -> CacheRequest:
        """What an engine's own cache model is asked.

        Raises:
            InputError: the profile cannot render the prompt.
        """
        info, counter = exchange.info, self._choice.counter
        rendered = counter.rendered(prompt)
        tokens = counter.sequence(rendered)
        self.exact = self.exact and counter.is_exact(rendered)
        self.characters += rendered.starts[-1]
        asked = cache_request(
            prompt,
            rendered,
            counter.encoder,
            index=self._read,
            lane=lane,
            tokens=tokens,
            generated=self._replying.generated(exchange),
            info=info,
        )
        self._read += 1
        if not self._choice.is_hosted:
            return asked
        self._calibration.add(lane, info, len(tokens))
        factor = self._calibration.factor(lane, info.model)
        return self._choice.places.with_blocks(asked, prompt, rendered, token_factor=factor)


def _generated(info: ExchangeInfo, asked: CacheRequest) -> int:
    """Tokens of the reply as reported, else as counted; 0 where there is neither."""
    if info.usage is not None and info.usage.output_tokens:
        return info.usage.output_tokens
    return 0 if asked.reply is None else len(asked.reply) - len(asked.tokens)
