"""What tells the sender of a request: the agent, and the conversation it is in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import attrgetter

from cachediag.compare.detectors.patterns import mask
from cachediag.model import Block, ExchangeInfo, Json, Part, Prompt
from cachediag.protocol import jsontext
from cachediag.protocol.blocks import named

__all__ = ["Traits", "traits"]

_SESSION = "x-claude-code-session-id"
_AGENT = "x-claude-code-agent-id"
_CLASS = "x-claude-code-request-class"
_HEADER, _SUBAGENT = b"x-anthropic-billing-header:", b"cc_is_subagent=true"
_HEADER_END = re.compile(rb"[\"\n]|\Z")
_TITLE = re.compile(r"\btitle\b", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\b(?:summary|summari[sz]ed)\b.{0,80}\b(?:conversation|session|history|so far)\b"
    r"|\b(?:conversation|session|history)\b.{0,80}\b(?:summary|summari[sz]ed|compacted)\b"
    r"|continued from a previous"
    r"|\A\W*(?:here(?: is|'s) )?(?:what (?:has )?happened|what (?:was|has been) done"
    r"|(?:the )?(?:progress|state of (?:the )?work))\b.{0,40}\bso far\b",
    re.IGNORECASE | re.DOTALL,
)
_ASKED = re.compile(r"\bsummar(?:y|i[sz]e)\b", re.IGNORECASE)
# Shorter lines (braces, blank ones, bullets) are alike everywhere.
_TELLING = 12
_MOSTLY = 0.5
_HEAD = 400
_REMEMBERED = 4096
_DIGEST = attrgetter("digest")


@dataclass(frozen=True, slots=True)
class Traits:
    """The features by which requests are told apart, digests instead of texts."""

    session: str | None
    agent: str | None
    request_class: str | None
    """What the client itself says it is: main, subagent, auxiliary or compaction."""
    is_subagent: bool
    is_count: bool
    """Asks for a count of tokens, which prefills nothing."""
    tools: frozenset[str]
    system: Mapping[int, int]
    """Digest of each telling line of the system prompt, to the line's length."""
    is_title: bool
    opens_with_summary: bool
    """The first user message tells of a conversation before: the history was compacted."""
    talk: tuple[Part, ...]
    """The messages."""
    digests: tuple[bytes, ...]
    """Digest of every part, in cache order."""

    def same_agent(self, other: "Traits") -> bool:
        """Whether two requests have the same kind of sender: alike tools and alike system."""
        if self.session and other.session and self.session != other.session:
            return False
        if bool(self.tools) != bool(other.tools):
            return False
        return _share(self.tools, other.tools) >= _MOSTLY and self._same_system(other)

    def _same_system(self, other: "Traits") -> bool:
        if self.system is other.system:
            return True
        longest = max(sum(self.system.values()), sum(other.system.values()))
        shared = sum(size for line, size in self.system.items() if line in other.system)
        return shared >= _MOSTLY * longest

    def continues(self, first: "Traits", latest: "Traits") -> bool:
        """Whether this request is a later turn of a conversation.

        Some clients open every conversation with the same words, so what tells is the task that
        the first request ended with, or what the model said since.

        Args:
            first: the conversation's first request.
            latest: its latest one.
        """
        if self._holds_task_of(first):
            return True
        return bool(self.said() & (latest.said() - first.said()))

    def _holds_task_of(self, first: "Traits") -> bool:
        """Whether the task stands where it stood, and the talk has gone on since.

        Agents with one standing task are sent it at the end of ever new histories.
        """
        at = len(first.talk) - 1
        if at < 0 or len(self.talk) <= at or not self.talk[at].blocks:
            return False
        if self.talk[at].blocks[-1].canonical != first.task:
            return False
        return at == 0 or len(self.talk) > at + 1 or self.digests == first.digests

    def said(self) -> frozenset[bytes]:
        """Digests of every message of the model."""
        return frozenset(part.digest for part in self.talk if part.role == "assistant")

    @property
    def task(self) -> bytes | None:
        """The newest block of the newest message."""
        blocks = self.talk[-1].blocks if self.talk else ()
        return blocks[-1].canonical if blocks else None

    @property
    def asks_for_summary(self) -> bool:
        """The newest message asks for a summary: the history is about to be compacted."""
        return any(_ASKED.search(text) for text in _texts(self.talk[-1])) if self.talk else False

    def goes_on_from(self, other: "Traits") -> bool:
        """Whether this request's history holds the other's newest message."""
        return bool(other.digests) and other.digests[-1] in self.digests

    def lost_tools_of(self, other: "Traits") -> bool:
        """Whether the talk goes on under the same system prompt, and all tools are gone."""
        gone = bool(other.tools) and not self.tools
        return gone and self._same_system(other) and self.goes_on_from(other)

    @property
    def is_single_turn(self) -> bool:
        """The model has not spoken yet."""
        return all(part.role != "assistant" for part in self.talk)


def _share(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def traits(info: ExchangeInfo, prompt: Prompt) -> Traits:
    """The traits of a request.

    Args:
        info: what was recorded beside its body.
        prompt: its prompt, as the profile arranges it.
    """
    system, talk = prompt.parts("system"), prompt.parts("messages")
    opening = next((part for part in talk if part.role == "user"), None)
    return Traits(
        session=info.headers.get(_SESSION),
        agent=info.headers.get(_AGENT),
        request_class=info.headers.get(_CLASS),
        is_subagent=_AGENT in info.headers or any(map(_says_subagent, system)),
        is_count=info.endpoint == "count_tokens",
        tools=_names(prompt.parts("tools")),
        system=_telling_lines(system),
        is_title=any(_TITLE.search(text[:_HEAD]) for p in system for text in _texts(p)),
        opens_with_summary=bool(opening)
        and any(_SUMMARY.search(text[:_HEAD]) for text in _texts(opening)),
        talk=talk,
        digests=tuple(map(_DIGEST, chain.from_iterable(run.parts for run in prompt.runs))),
    )


@lru_cache(maxsize=_REMEMBERED)
def _says_subagent(part: Part) -> bool:
    raw, end = part.raw, 0
    while (start := raw.find(_HEADER, end)) >= 0:
        found = _HEADER_END.search(raw, start)
        end = found.start() if found else len(raw)
        if raw.find(_SUBAGENT, start, end) >= 0:
            return True
    return False


@lru_cache(maxsize=_REMEMBERED)
def _names(tools: tuple[Part, ...]) -> frozenset[str]:
    return frozenset(_name(block) for part in tools for block in part.blocks)


@lru_cache(maxsize=_REMEMBERED)
def _telling_lines(system: tuple[Part, ...]) -> Mapping[int, int]:
    """Digest and length of each line that is not short, what is volatile in it left out."""
    return {line: size for part in system for text in _texts(part) for line, size in _lines(text)}


@lru_cache(maxsize=_REMEMBERED)
def _lines(text: str) -> tuple[tuple[int, int], ...]:
    lines = (mask(line) for line in text.splitlines() if len(line) >= _TELLING)
    return tuple((hash(line), len(line)) for line in lines)


@lru_cache(maxsize=_REMEMBERED)
def _texts(part: Part) -> tuple[str, ...]:
    texts = (_value(block).get("text") for block in part.blocks)
    return tuple(text for text in texts if isinstance(text, str))


def _value(block: Block) -> dict[str, Json]:
    value = jsontext.decode(block.canonical)
    return value if isinstance(value, dict) else {}


def _name(block: Block) -> str:
    return str(named(jsontext.decode(block.canonical)).get("name", ""))
