"""What an adapter says of a tool, and what a tool says of a case."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from peers.case import Case

__all__ = ["Command", "Heard", "Tool"]


@dataclass(frozen=True, slots=True)
class Heard:
    """One finding of a tool."""

    word: str
    """The tool's own name for it."""
    path: str | None = None
    """The JSON path in the request where the tool says that it is; None where it tells none."""
    token: int | None = None
    """The token at which the tool says that the prompts part, by Qwen's tokenizer."""
    suspicion: bool = False
    """The tool itself says that it may be harmless: right where it hits, no alarm where not."""


@dataclass(frozen=True, slots=True)
class Command:
    """How a tool is run on one case."""

    arguments: Sequence[str | Path]
    """A program of the tool's environment, `python` or its own, and what it is given."""
    output: Path | None = None
    """The file that the findings are written to; None where they go to standard output."""
    fine: frozenset[int] = frozenset({0})
    """The exit codes with which the tool tells findings; any other is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool, what it claims to do, and how to ask it."""

    name: str
    version: str
    """The release that is judged."""
    requires: tuple[str, ...]
    """What is installed in its environment."""
    takes: str
    """The form in which it is given the cases."""
    words: Mapping[str, tuple[str, ...]]
    """Its own names of findings → the codes that they stand for; none for what is no alarm."""
    markers: bool = True
    """It knows `cache_control`, or is given none; else its near-misses are tried without, too."""
    every: bool = False
    """It claims to name all causes of a pair, so all are asked for; else one of them will do."""
    unasked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """A case's name → the causes in it that the tool does not claim to see, though others alike."""
    outside: Callable[[Case], str | None]
    """Why a case is outside what the tool claims to do; None where it is inside."""
    command: Callable[[Case, Path], Command]
    """Writes a case into an empty folder, in the tool's form."""
    read: Callable[[Case, str], list[Heard]]
    """What the tool says of a case, from its output."""

    @property
    def codes(self) -> frozenset[str]:
        """The codes that it has a word for."""
        return frozenset(code for codes in self.words.values() for code in codes)
