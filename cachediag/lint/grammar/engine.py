"""What a grammar engine must do: the role that `xgrammar` and `llguidance` fill here.

Engines are loaded in a child process only, see `worker`. A new one is a module with a function
`load` and a line in `ENGINES`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Protocol

from cachediag.errors import UsageError
from cachediag.extras import install
from cachediag.model import Json
from cachediag.tokens.tokenizers import Tokenizer

__all__ = [
    "ENGINES",
    "Compiled",
    "Compiler",
    "Engine",
    "Rejected",
    "end_tokens",
    "installed",
    "lines",
]

ENGINES: Final[dict[str, str]] = {
    "xgrammar": "cachediag.lint.grammar.xgrammar",
    "llguidance": "cachediag.lint.grammar.llguidance",
}
"""Module by the name of the package that it needs."""


class Rejected(Exception):  # noqa: N818 - an outcome, not an error of ours
    """The engine refuses a grammar, and says why."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A grammar as compiled."""

    size: int | None
    """Bytes, as the engine counts them; None where it does not."""
    fits: Callable[[str], bool]
    """Whether a whole answer is accepted."""
    warnings: tuple[str, ...] = ()


class Compiler(Protocol):
    """What compiles grammars, and may remember parts of them."""

    def compile(self, prepared: str) -> Compiled:
        """Compile what `Engine.prepare` wrote.

        Raises:
            Rejected: the engine refuses it.
        """
        ...

    def cache_size(self) -> int | None:
        """Bytes of what it remembers; None where it remembers nothing."""
        ...


class Engine(Protocol):
    """A grammar engine with a tokenizer."""

    def prepare(self, tag: Json) -> str:
        """Write a structural tag as the engine reads it. Not part of what is timed."""
        ...

    def compiler(self) -> Compiler:
        """A new compiler."""
        ...


def installed() -> tuple[dict[str, str], tuple[str, ...]]:
    """The engines that are here, with their versions, and those that are not.

    Raises:
        UsageError: none is here.
    """
    found: dict[str, str] = {}
    for name in ENGINES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    if not found:
        raise UsageError(
            "measuring what grammars cost needs xgrammar or llguidance, and neither is installed",
            remedy=install("grammar"),
        )
    return found, tuple(name for name in ENGINES if name not in found)


_ENDS: Final = (
    *("<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "</s>"),
    *("<｜end▁of▁sentence｜>", "<|end|>", "<eos>", "<end_of_turn>"),
)


def end_tokens(tokenizer: Tokenizer) -> tuple[list[bytes], list[int]]:
    """The vocabulary of a tokenizer, and those of its ids that end an answer.

    One is made up where the tokenizer names none that is known: engines want one.
    """
    vocabulary = tokenizer.vocabulary()
    ends = [tokenizer.special[text] for text in _ENDS if text in tokenizer.special]
    if not ends:
        ends = [len(vocabulary)]
        vocabulary.append(b"</s>")
    return vocabulary, ends


_PLACE: Final = re.compile(r"^\[[\d:]+\] \S+?:\d+: (?:Warning: )?")


def lines(said: str | Sequence[str]) -> tuple[str, ...]:
    """What an engine said, once each, without the places in its source."""
    given = said.splitlines() if isinstance(said, str) else said
    told = (_PLACE.sub("", line).strip() for line in given)
    return tuple(dict.fromkeys(line for line in told if line))
