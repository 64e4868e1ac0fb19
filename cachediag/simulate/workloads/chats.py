"""Made-up chats of several turns, each of which sends the whole talk again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from cachediag.simulate.model import Request, Scale, Workload
from cachediag.simulate.workloads.amounts import (
    Amount,
    check_above_nothing,
    check_least,
    counts,
    described,
    values,
)
from cachediag.simulate.workloads.arrivals import check_load, offered, source

__all__ = ["Chats"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chats:
    """Chats that begin with one system prompt, and whose turns wait for each other.

    A turn's prompt is the one before, its reply and what the user says next, which is sent `pause`
    seconds after that reply has ended. With `rate` new chats begin as a Poisson process. With
    `clients` that many go on at once: where one has ended the next begins; the chats are the same,
    whoever has them.

    Raises:
        UsageError: a value makes no sense.
    """

    chats: int
    """How many there are in all."""
    system_tokens: int = 500
    """Tokens of the system prompt, which all chats share."""
    turns: Amount = 5
    """Requests of a chat."""
    user_tokens: Amount = 100
    """Tokens of what a user says in a turn."""
    reply_tokens: Amount = 200
    """Tokens generated in a turn."""
    pause: Amount = 10.0
    """Seconds from the end of a reply to the next turn."""
    rate: float | None = None
    """New chats a second, on the average."""
    clients: int | None = None
    """Chats that go on at once. Either this or `rate`."""
    ramp: float = 0.0
    """Seconds over which the first of these begin, one after another; at 0 all at once."""
    block: int = 16
    """Tokens of a block."""
    characters: float = 4.0
    """Characters, and bytes, of a token on the average: for routers that count in them."""

    def __post_init__(self) -> None:
        check_load(self.rate, self.clients, self.ramp)
        check_least(1, chats=self.chats, block=self.block)
        check_least(0, system_tokens=self.system_tokens)
        check_above_nothing(characters=self.characters)

    def workload(self) -> Workload:
        """The requests, made as they are asked for."""
        return Workload(
            "chats", Scale(self.block, self.characters), self._requests, self._assumed()
        )

    def _assumed(self) -> tuple[str, ...]:
        return (
            f"chats of {described(self.turns)} turns behind one system prompt of "
            f"{self.system_tokens:,} tokens",
            f"a turn of {described(self.user_tokens)} tokens, its reply of "
            f"{described(self.reply_tokens)}, a pause of {described(self.pause)} seconds",
            "every reply comes back as it was generated",
        )

    def _requests(self, seed: int) -> Iterator[Request]:
        made = partial(self._begun, seed)
        return offered(made, self.chats, seed, rate=self.rate, clients=self.clients, ramp=self.ramp)

    def _begun(
        self,
        seed: int,
        times: Iterator[float],
        followed: int,
        then: Callable[[], Request] | None,
    ) -> Iterator[Request]:
        """The first request of each chat; the first `followed` chats are followed by another."""
        draw = source(seed, "chats")
        turns, user = counts(self.turns, draw), counts(self.user_tokens, draw)
        reply, pause = counts(self.reply_tokens, draw), values(self.pause, draw)
        whole = self.system_tokens // self.block
        system, free = tuple(range(whole)), whole
        for number in range(self.chats):
            # All at once, so that no chat depends on when another goes on.
            said = [(user(), reply(), pause()) for _ in range(turns())]
            size = self.system_tokens + sum(asked + given for asked, given, _ in said)
            end = free + size // self.block - whole
            talk = _Talk(
                session=str(number),
                said=said,
                block=self.block,
                base=free - whole,
                open=end,
                then=then if number < followed else None,
            )
            free = end + len(said)
            yield talk.turn(0, system, self.system_tokens, next(times))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Talk:
    """One chat."""

    session: str
    said: list[tuple[int, int, float]]
    """Of each turn: tokens of the user, tokens of the reply, seconds of the pause."""
    block: int
    base: int
    """Added to the place of a block behind the system prompt's to make its key."""
    open: int
    """Key of the last block of the first prompt, if that is not full; of later ones the next."""
    then: Callable[[], Request] | None
    """What follows the last turn."""

    def turn(self, number: int, held: tuple[int, ...], before: int, arrival: float) -> Request:
        """One request.

        Args:
            number: of the turn.
            held: keys of the whole blocks of all before it.
            before: tokens before what the user says in it.
            arrival: when it is sent, if it waits for no other.
        """
        user, reply, pause = self.said[number]
        tokens = before + user
        # The last token is generated and never fed.
        end = (tokens + reply - 1) // self.block
        kept = held + tuple(range(self.base + len(held), self.base + end))
        blocks = kept[: tokens // self.block]
        if tokens % self.block:
            # A block that is filled up later has another key.
            blocks += (self.open + number,)
        is_last = number + 1 == len(self.said)
        following = partial(self.turn, number + 1, kept, tokens + reply, 0.0)
        return Request(
            arrival=arrival,
            session=self.session,
            blocks=blocks,
            input_tokens=tokens,
            output_tokens=reply,
            kept=kept,
            pause=0.0 if is_last else pause,
            then=self.then if is_last else following,
        )
