"""The hosted Anthropic cache: entries at breakpoints, found by looking back from breakpoints.

Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching in the state of autumn
2026; numbers and prices in `anthropic.toml`, each row with its page.

- The prompt is tools, system, messages. A marked block writes one entry: the prefix that ends with
  it.
- A lookup starts at the last breakpoint and walks back over at most 20 positions, the breakpoint
  being the first of them; a run of `tool_use` blocks is one position, and so is a run of
  `tool_result` blocks. It goes on from the next earlier breakpoint. It finds what earlier requests
  wrote, nothing else.
- An entry can be read once the response that wrote it has begun, and lives 5 minutes or 1 hour from
  the start of the request that last wrote or read it.
- A prefix shorter than the model's minimum is neither written nor read. More than four breakpoints,
  and a 1-hour one after a 5-minute one, are refused.
- Another model, tool, or text before a breakpoint makes another entry. `speed` counts from the
  system text on; `tool_choice`, images, `thinking` and `effort` count for messages.

Not modelled: the breakpoint that the API itself sets on results of its server tools, and which
models render thinking and effort before the tools.
"""

import json
import tomllib
from bisect import bisect_right, insort
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import Any

from cachediag.analysis.engines.hosted import Entries, Price
from cachediag.analysis.engines.model import Breakpoint, CacheRequest, Lifetime, Reason, Served
from cachediag.analysis.engines.prefix import PrefixKey, prefix_key
from cachediag.model import Section

__all__ = ["Anthropic", "ModelRules", "model_rules", "price"]

_RUNS = ("tool_use", "tool_result")


@dataclass(frozen=True, slots=True)
class ModelRules:
    """What the cache asks of one model's prompts."""

    minimum: int
    """Tokens that a prefix must have to be written or read."""
    price: Price | None
    """None where the model's price is not known here."""
    long_prompt: tuple[int, float] | None
    """Above so many tokens the input costs so much; None where the price is one."""
    known: bool
    """Whether the data file names the model."""


@cache
def _data() -> dict[str, Any]:
    text = files(__package__).joinpath("anthropic.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def model_rules(model: str | None) -> ModelRules:
    """The rules for a model by its identifier, dated or with a platform's prefix or not."""
    data, name = _data(), (model or "").lower().replace(".", "-")
    fitting = [row for row in data["models"] if row["name"] in name]
    row = data["default"] | max(fitting, key=lambda row: len(row["name"]), default={})
    lifetimes, price = data["lifetimes"], None
    if "input" in row:
        price = Price(
            row["input"],
            lifetimes["5m"]["write"],
            lifetimes["1h"]["write"],
            row["read_price"],
            row["read"],
        )
    long = row.get("long_prompt")
    return ModelRules(
        row["minimum"], price, (long["above"], long["input"]) if long else None, bool(fitting)
    )


def price(model: str | None, tokens: int) -> Price | None:
    """What a prompt of so many tokens is charged by; None where that is not known."""
    rules = model_rules(model)
    if rules.price and rules.long_prompt and tokens > rules.long_prompt[0]:
        return replace(rules.price, input=rules.long_prompt[1])
    return rules.price


class Anthropic:
    """The cache of the Messages API."""

    name = "anthropic"

    def __init__(self) -> None:
        data = _data()
        self._most = data["rules"]["breakpoints"]
        self._lookback = data["rules"]["lookback"]
        self._seconds = {name: row["seconds"] for name, row in data["lifetimes"].items()}
        self._entries = Entries()
        self._settings: dict[tuple[PrefixKey, Section], _Settings] = {}
        """The settings under which each prefix was last written, by the section that it ends in:
        an empty block behind a section's last one ends where that does."""
        self._ends: set[int] = set()
        """The lengths of all that was ever written: no other prefix need be looked up."""
        self._lengths: list[int] = []
        """The same, the shortest first."""

    def serve(self, request: CacheRequest) -> Served:
        """Read the longest entry in reach of a breakpoint, and write one at each."""
        marks = _breakpoints(request)
        refused = self._refused(marks)
        if refused is not None:
            return Served(0, reason=refused)
        prompt = _Prompt(request)
        minimum = model_rules(request.model).minimum / request.token_factor
        found = self._find(prompt, marks, minimum)
        reason = self._reason(prompt, marks, found, minimum)
        last = last_1h = found
        for mark in marks:
            end = prompt.end(mark.block)
            if end < minimum:
                continue
            key = prompt.key(mark.block)
            self._settings[key[0], prompt.section(mark.block)] = key[1]
            if end not in self._ends:
                self._ends.add(end)
                insort(self._lengths, end)
            seconds = self._seconds[mark.lifetime]
            self._entries.write(key, seconds, request.started, request.first_byte)
            last = max(last, end)
            if mark.lifetime == "1h":
                last_1h = max(last_1h, end)
        return Served(found, created=last - found, created_1h=last_1h - found, reason=reason)

    def _refused(self, marks: tuple[Breakpoint, ...]) -> Reason | None:
        if len(marks) > self._most:
            return Reason("M03", f"{len(marks)} breakpoints, of which the API takes {self._most}")
        lifetimes = [mark.lifetime for mark in marks]
        if lifetimes != sorted(lifetimes):
            return Reason("M05", "a 1-hour breakpoint after a 5-minute one is refused")
        return None

    def _find(self, prompt: "_Prompt", marks: tuple[Breakpoint, ...], minimum: float) -> int:
        """The length of the entry that a lookup finds; finding it makes its time begin anew."""
        now = prompt.request.started
        for mark in reversed(marks):
            for block in prompt.back(mark.block, self._lookback):
                if prompt.end(block) not in self._ends:
                    continue
                entry = self._entries.find(prompt.key(block))
                if entry and prompt.end(block) >= minimum and entry.alive(now) and entry.ready(now):
                    entry.used = now
                    return prompt.end(block)
        return 0

    def _reason(
        self, prompt: "_Prompt", marks: tuple[Breakpoint, ...], found: int, minimum: float
    ) -> Reason | None:
        if found >= prompt.request.shared:
            return None
        if not marks:
            return Reason("M03", "no breakpoint, so nothing is kept")
        last = prompt.end(marks[-1].block)
        if last < minimum:
            least = prompt.told(minimum)
            return Reason("M04", f"shorter than the model's minimum of {least} tokens")
        for block in self._written(prompt, found, minimum):
            digest, settings = prompt.key(block)
            before = self._settings.get((digest, prompt.section(block)))
            if before is not None:
                return self._missed(prompt, block, marks[-1].block, before, settings)
        if found == last:
            return Reason("M03", f"the last breakpoint stands at token {prompt.told(last)}")
        if not found:
            return Reason("M03", "no earlier breakpoint stands within the shared prefix")
        # Between two breakpoints nothing can be read: a matter of rounding.
        return None

    def _written(self, prompt: "_Prompt", found: int, minimum: float) -> Iterator[int]:
        """The shared blocks behind what was found that an entry may have ended with, last first."""
        blocks, lengths = prompt.request.blocks, self._lengths
        # No entry beyond the shared prefix is one of this prompt's.
        for at in reversed(range(bisect_right(lengths, prompt.request.shared))):
            if lengths[at] <= found or lengths[at] < minimum:
                return
            last = bisect_right(blocks, lengths[at], key=attrgetter("end"))
            for block in reversed(range(last)):
                if prompt.end(block) != lengths[at]:
                    break
                yield block

    def _missed(
        self, prompt: "_Prompt", block: int, last: int, before: "_Settings", after: "_Settings"
    ) -> Reason | None:
        """Why a prefix that was written once is not read."""
        now, end = prompt.request.started, prompt.told(prompt.end(block))
        entry = self._entries.find(prompt.key(block))
        if entry is None:
            changed = [
                name for (name, old), (_, new) in zip(before, after, strict=True) if old != new
            ]
            return Reason("S10", f"{' and '.join(changed)} changed")
        if not entry.alive(now):
            return Reason("M05", f"the entry at token {end} had expired")
        if not entry.ready(now):
            return Reason("P04", f"the response that wrote the entry at token {end} had not begun")
        if block > last:
            return Reason("M03", f"the last breakpoint stands before the entry at token {end}")
        return Reason("M02", f"the entry at token {end} is {self._lookback} or more positions back")


_Settings = tuple[tuple[str, Hashable], ...]


class _Prompt:
    """A request's blocks with the keys of the prefixes that end with them."""

    def __init__(self, request: CacheRequest) -> None:
        self.request = request
        params = request.params
        model = (("model", request.model),)
        system = (*model, ("speed", params.get("speed")))
        self._settings: dict[Section, _Settings] = {
            "tools": model,
            "system": system,
            "messages": (
                *system,
                ("tool_choice", params.get("tool_choice", b'{"type":"auto"}')),
                ("images", request.has_images),
                ("thinking", params.get("thinking")),
                ("effort", _effort(params.get("output_config"))),
            ),
        }

    def end(self, block: int) -> int:
        """Tokens up to a block's end."""
        return self.request.blocks[block].end

    def section(self, block: int) -> Section:
        """The section that a block stands in."""
        return self.request.blocks[block].section

    def told(self, tokens: float) -> int:
        """A length as the model's own tokenizer counts it, for a user to read."""
        return round(tokens * self.request.token_factor)

    def key(self, block: int) -> tuple[PrefixKey, _Settings]:
        """What names the prefix that ends with a block."""
        place = self.request.blocks[block]
        return prefix_key(self.request.tokens, place.end), self._settings[place.section]

    def back(self, block: int, positions: int) -> Iterator[int]:
        """The blocks within so many positions, from a block backwards."""
        run = None
        for index in range(block, -1, -1):
            kind = self.request.blocks[index].kind
            if kind not in _RUNS or kind != run:
                positions -= 1
            if positions < 0:
                return
            run = kind
            yield index


def _breakpoints(request: CacheRequest) -> tuple[Breakpoint, ...]:
    """The request's markers, and the one that `cache_control` at the top of the body stands for."""
    automatic = request.params.get("cache_control", b"null")
    if automatic == b"null":
        return request.breakpoints
    for index in reversed(range(len(request.blocks))):
        if "thinking" not in request.blocks[index].kind:
            if any(mark.block == index for mark in request.breakpoints):
                break
            lifetime: Lifetime = "1h" if b'"1h"' in automatic else "5m"
            return (*request.breakpoints, Breakpoint(index, lifetime))
    return request.breakpoints


def _effort(config: bytes | None) -> Hashable:
    value = json.loads(config) if config else None
    effort = value.get("effort") if isinstance(value, dict) else None
    return effort if isinstance(effort, str) else None
