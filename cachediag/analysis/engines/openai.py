"""OpenAI's automatic cache.

Source: https://developers.openai.com/api/docs/guides/prompt-caching in the state of autumn 2026;
numbers in `openai.toml`, each row with its page.

- Before GPT-5.6: prefixes of at least 1,024 tokens, in steps (128 tokens as the documentation gave
  it until 2026, 2,048 for GPT-5.5); reading one makes its time begin anew.
- From GPT-5.6: a request writes one prefix, which ends with its latest eligible message (a user's,
  or the last of a run of tool results, or the last developer message at the head). It reads the
  longest that ends with one of its last 21 eligible messages, or with the developer messages at its
  head.

Not modelled: explicit breakpoints (`prompt_cache_breakpoint`), the hidden tokens before the prompt,
and routing, by which a request may miss for no reason of its own.
"""

import json
import re
import tomllib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from math import inf
from typing import Any

from cachediag.analysis.engines.hosted import Entries, Price
from cachediag.analysis.engines.model import CacheRequest, Reason, Served
from cachediag.analysis.engines.prefix import prefix_key
from cachediag.analysis.engines.tree import PrefixTree

__all__ = ["OpenAI", "OpenAIRules", "openai_rules", "price"]

_EARLIER_MESSAGES = 20
_DATE = re.compile(r"-\d{4}-\d\d-\d\d\Z")


@dataclass(frozen=True, slots=True)
class OpenAIRules:
    """What the cache does with one model's prompts. Lengths in tokens."""

    minimum: int
    interval: int
    """Distance of the places at which a prefix can end; 0 where it ends with a message."""
    round: int
    seconds: float
    write: float
    """Multiple of the input price that writing costs."""
    read: float


@cache
def _data() -> dict[str, Any]:
    text = files(__package__).joinpath("openai.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def openai_rules(model: str | None) -> OpenAIRules:
    """The rules for a model by its identifier."""
    name = _name(model)
    fitting = (row for row in _data()["models"] if name.startswith(row["name"]))
    row = max(fitting, key=lambda row: len(row["name"]))
    return OpenAIRules(
        *(row[key] for key in ("minimum", "interval", "round", "seconds", "write", "read_price"))
    )


def price(model: str | None, tokens: int) -> Price | None:
    """What a prompt of so many tokens is charged by; None where that is not known."""
    name = _DATE.sub("", _name(model))
    row = next((row for row in _data()["prices"] if row["name"] == name), None)
    if row is None:
        return None
    rules, long = openai_rules(model), row.get("long_prompt")
    paid = long["input"] if long and tokens > long["above"] else row["input"]
    return Price(paid, rules.write, rules.write, rules.read, row["read"])


def _name(model: str | None) -> str:
    """A model's identifier without a platform's prefix."""
    return (model or "").lower().rpartition("/")[2]


class OpenAI:
    """The cache of Chat Completions and Responses."""

    name = "openai"

    def __init__(self) -> None:
        self._entries = Entries()
        self._lengths: set[int] = set()
        """The lengths of all that was ever written: no other prefix need be looked up."""
        self._steps: dict[Hashable, PrefixTree] = {}

    def serve(self, request: CacheRequest) -> Served:
        """Read the longest living prefix, and write the prompt's own."""
        rules = openai_rules(request.model)
        if rules.interval:
            return self._by_steps(request, rules)
        return self._by_messages(request, rules)

    def _by_steps(self, request: CacheRequest, rules: OpenAIRules) -> Served:
        tree = self._steps.setdefault(_settings(request), PrefixTree(rules.interval))
        now = request.started
        oldest = -inf if now is None else now - _seconds(request, rules)
        found, kept = tree.visit(request.tokens, request.lane, 0.0 if now is None else now, oldest)
        reused = found - found % rules.round if found >= rules.minimum else 0
        written = len(request.tokens) // rules.interval * rules.interval
        created = max(0, written - found) if written >= rules.minimum else 0
        return Served(reused, created, reason=_reason(request, rules, reused, kept))

    def _by_messages(self, request: CacheRequest, rules: OpenAIRules) -> Served:
        ends = [end for end in _ends(request) if end >= rules.minimum]
        now, found, written = request.started, 0, 0
        settings = _settings(request)
        for end in sorted(self._lengths.intersection(ends), reverse=True):
            entry = self._entries.find((settings, prefix_key(request.tokens, end)))
            if entry is not None and entry.ready(now):
                written = max(written, end)
                if entry.alive(now):
                    found, entry.used = end, now
                    break
        last = ends[-1] if ends else 0
        if last:
            key = (settings, prefix_key(request.tokens, last))
            self._lengths.add(last)
            self._entries.write(key, _seconds(request, rules), now, request.first_byte)
        return Served(found, max(0, last - found), reason=_reason(request, rules, found, written))


def _settings(request: CacheRequest) -> Hashable:
    """What beside the tokens names an entry."""
    names = ("prompt_cache_key", "reasoning", "text", "response_format", "parallel_tool_calls")
    return request.model, *(request.params.get(name) for name in names)


def _seconds(request: CacheRequest, rules: OpenAIRules) -> float:
    asked = json.loads(request.params.get("prompt_cache_retention", b"null"))
    known: dict[str, float] = _data()["retention"]
    return known[asked] if asked in ("in_memory", "24h") else rules.seconds


def _ends(request: CacheRequest) -> list[int]:
    """Where a prefix of this prompt can end, in order."""
    chosen = [*islice(_eligible_from_the_end(request), _EARLIER_MESSAGES + 1)][::-1]
    head = _head(request)
    return [head, *chosen] if head and head not in chosen else chosen


def _eligible_from_the_end(request: CacheRequest) -> Iterator[int]:
    """The ends of eligible messages, the latest first."""
    after, next_is_result = None, False
    for block in reversed(request.blocks):
        if block.section == "tools":
            return
        is_result = block.kind == "tool_result" or block.role == "tool"
        if after is None or after.message != block.message:
            eligible = not next_is_result if is_result else block.role == "user"
            if eligible:
                yield block.end
        after, next_is_result = block, is_result


def _head(request: CacheRequest) -> int:
    """The end of the developer and system messages at the head of the prompt."""
    end = 0
    for block in request.blocks:
        if block.section == "tools":
            continue
        if block.role not in ("system", "developer"):
            break
        end = block.end
    return end


def _reason(request: CacheRequest, rules: OpenAIRules, reused: int, kept: int) -> Reason | None:
    wanted = request.shared
    if 0 < wanted < rules.minimum:
        return Reason("M04", f"shorter than the minimum of {rules.minimum} tokens")
    if reused < kept and reused < wanted - wanted % max(rules.interval, rules.round):
        return Reason("M05", f"the prefix of {kept} tokens had expired")
    return None
