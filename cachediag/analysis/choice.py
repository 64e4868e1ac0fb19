"""Which profile, tokenizer, chat template and cache model an analysis goes by."""

import re
from dataclasses import dataclass, replace

from cachediag.analysis.counting import counting
from cachediag.analysis.engines import CacheModel, engine
from cachediag.analysis.hosted import Places
from cachediag.analysis.seams import KEEP_REPLIES
from cachediag.analysis.serving import generated_text
from cachediag.analysis.tokenview import Counter
from cachediag.model import Endpoint, Exchange
from cachediag.protocol.reply import read_reply
from cachediag.render.templates import Template

__all__ = ["Choice", "choose", "default_engine"]

_ENGINES = {
    "anthropic": "anthropic",
    # A tree without a limit: what any cache of prefixes could reuse at best.
    "generic": "sglang",
    "llama.cpp": "llama.cpp",
    "mlx-lm": "mlx-lm",
    "vllm": "vllm",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What an analysis goes by."""

    counter: Counter
    places: Places
    """Finds the blocks that a hosted cache looks at."""
    template: Template
    engine: CacheModel
    """Holds what it was fed: a session is played to a new one."""
    engine_spec: str
    model: str
    """The tokenizer's name."""

    def anew(self, engine_spec: str | None = None) -> "Choice":
        """The same with an empty cache, of the same model or of another.

        What was parsed, rendered and encoded before stays known.
        """
        spec = engine_spec or self.engine_spec
        return replace(self, engine=engine(spec), engine_spec=spec)

    @property
    def engine_name(self) -> str:
        """The cache model's name without its version and options."""
        return re.split("[@:]", self.engine.name)[0]

    @property
    def keeps_replies(self) -> bool:
        """The engine keeps the tokens that it generated."""
        return self.engine_name in KEEP_REPLIES

    def generated(self, exchange: Exchange) -> str | None:
        """What the model generated, as the template prints it.

        None where the engine does not keep it, or where it was not recorded.
        """
        info = exchange.info
        if not self.keeps_replies or not exchange.response:
            return None
        reply = read_reply(
            info.endpoint, info.response_headers.get("content-type"), exchange.response
        )
        return generated_text(reply, self.template, self.counter.encoder) if reply else None

    @property
    def is_hosted(self) -> bool:
        """The cache goes by blocks and breakpoints, and is paid for."""
        return self.engine_name in ("anthropic", "openai")


def choose(
    endpoint: Endpoint,
    *,
    profile_spec: str | None = None,
    model_spec: str | None = None,
    tokenizer_spec: str | None = None,
    engine_spec: str | None = None,
) -> Choice:
    """Fill in what the user did not name; see `counting` for what is not said here.

    Args:
        endpoint: what the session's requests call.
        profile_spec: `--profile`.
        model_spec: `--model`.
        tokenizer_spec: `--tokenizer`.
        engine_spec: `--engine`; by default what the profile's backend has.

    Raises:
        UsageError: something is named that there is not.
    """
    by = counting(endpoint, profile_spec, model_spec, tokenizer_spec)
    played = engine_spec or default_engine(by.counter.profile.name)
    places = Places(by.counter.encoder)
    return Choice(by.counter, places, by.template, engine(played), played, by.model)


def default_engine(profile_name: str) -> str:
    """The cache model of a profile's backend as it is installed."""
    name, _, version = profile_name.partition("@")
    if name != "vllm-mlx":
        return _ENGINES[name]
    release = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    # Releases before 0.4 keep no prefix cache for text.
    return f"vllm-mlx@{version.partition(':')[0]}" if release >= (0, 4, 0) else "none"
