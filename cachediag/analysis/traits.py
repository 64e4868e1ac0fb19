"""What tells the sender of a request: the agent, and the conversation it is in."""

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from cachediag.compare.detectors.patterns import mask
from cachediag.model import Block, ExchangeInfo, Json, Prompt
from cachediag.protocol import jsontext

__all__ = ["Traits", "traits"]

_SESSION = "x-claude-code-session-id"
_AGENT = "x-claude-code-agent-id"
_CLASS = "x-claude-code-request-class"
_SUBAGENT = re.compile(rb"x-anthropic-billing-header:[^\"\n]*cc_is_subagent=true")
_TITLE = re.compile(r"\btitle\b", re.IGNORECASE)
_SUMMARY = re.compile(
    r"\b(?:summary|summari[sz]ed)\b.{0,80}\b(?:conversation|session|history|so far)\b"
    r"|\b(?:conversation|session|history)\b.{0,80}\b(?:summary|summari[sz]ed|compacted)\b"
    r"|continued from a previous",
    re.IGNORECASE | re.DOTALL,
)
# Shorter lines (braces, blank ones, bullets) are alike everywhere.
_TELLING = 12
_MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class Traits:
    """The features by which requests are told apart, digests instead of texts."""

    model: str | None
    session: str | None
    agent: str | None
    request_class: str | None
    """What the client itself says it is: main, subagent, auxiliary or compaction."""
    is_subagent: bool
    is_count: bool
    """Asks for a count of tokens, which prefills nothing."""
    tools: frozenset[str]
    system: dict[int, int]
    """Digest of each telling line of the system prompt, to the line's length."""
    is_title: bool
    opening: bytes
    """Digest of the first user message's last block: the task that was set."""
    opens_with_summary: bool
    """The first user message tells of a conversation before: the history was compacted."""
    said: frozenset[bytes]
    """Digests of every block that the model said."""
    last: bytes
    """Digest of the last block."""
    chain: tuple[bytes, ...]
    """Per block the digest of all blocks up to it: equal digests, equal prefixes."""
    digests: frozenset[bytes]

    def same_agent(self, other: "Traits") -> bool:
        """Whether two requests have the same kind of sender: alike tools and alike system."""
        if self.session and other.session and self.session != other.session:
            return False
        if bool(self.tools) != bool(other.tools):
            return False
        return _share(self.tools, other.tools) >= _MOSTLY and self._same_system(other)

    def _same_system(self, other: "Traits") -> bool:
        longest = max(sum(self.system.values()), sum(other.system.values()))
        shared = sum(size for line, size in self.system.items() if line in other.system)
        return shared >= _MOSTLY * longest

    def continues(self, other: "Traits") -> bool:
        """Whether this request is a later turn of the other's conversation."""
        return self.opening == other.opening or bool(self.said & other.said)

    def goes_on_from(self, other: "Traits") -> bool:
        """Whether this request's history holds the other's newest block."""
        return other.last in self.digests

    @property
    def is_single_turn(self) -> bool:
        """The model has not spoken yet."""
        return not self.said


def _share(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def traits(info: ExchangeInfo, prompt: Prompt, blocks: tuple[Block, ...]) -> Traits:
    """The traits of a request.

    Args:
        info: what was recorded beside its body.
        prompt: its prompt.
        blocks: the prompt's blocks as the profile arranges them.
    """
    digests = [_digest(block) for block in blocks]
    chain, running = [], blake2b(digest_size=12)
    for digest in digests:
        running.update(digest)
        chain.append(running.digest())
    system = [_text(block) for block in prompt.blocks if block.section == "system"]
    first_user = [b for b in prompt.blocks if b.section == "messages" and b.role == "user"]
    opening = [b for b in first_user if b.message == first_user[0].message]
    return Traits(
        model=prompt.model,
        session=info.headers.get(_SESSION),
        agent=info.headers.get(_AGENT),
        request_class=info.headers.get(_CLASS),
        is_subagent=_AGENT in info.headers or bool(_SUBAGENT.search(prompt.body)),
        is_count=info.endpoint == "count_tokens",
        tools=frozenset(_name(block) for block in prompt.blocks if block.section == "tools"),
        system={line: size for text in system for line, size in _telling_lines(text)},
        is_title=any(_TITLE.search(text[:400]) for text in system),
        opening=_digest(opening[-1]) if opening else b"",
        opens_with_summary=any(_SUMMARY.search(_text(block)[:400]) for block in opening),
        said=frozenset(
            digest
            for block, digest in zip(blocks, digests, strict=True)
            if block.role == "assistant"
        ),
        last=digests[-1] if digests else b"",
        chain=tuple(chain),
        digests=frozenset(digests),
    )


def _digest(block: Block) -> bytes:
    return blake2b(block.role.encode() + b"\0" + block.canonical, digest_size=12).digest()


@lru_cache(maxsize=128)
def _telling_lines(text: str) -> tuple[tuple[int, int], ...]:
    """Digest and length of each line that is not short, what is volatile in it left out."""
    lines = (mask(line) for line in text.splitlines() if len(line) >= _TELLING)
    return tuple((hash(line), len(line)) for line in lines)


def _value(block: Block) -> dict[str, Json]:
    value = jsontext.decode(block.canonical)
    return value if isinstance(value, dict) else {}


def _text(block: Block) -> str:
    text = _value(block).get("text")
    return text if isinstance(text, str) else ""


def _name(block: Block) -> str:
    value = _value(block)
    function = value.get("function")
    return str((function if isinstance(function, dict) else value).get("name", ""))
