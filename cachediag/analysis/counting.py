"""Which profile, chat template and tokenizer the tokens of a session are counted by."""

from dataclasses import dataclass

from cachediag.analysis.tokenview import Counter
from cachediag.model import Endpoint
from cachediag.protocol import Parser
from cachediag.render import default_profile, profile
from cachediag.render.templates import DEFAULT, Template, template
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import tokenizer

__all__ = ["Counting", "counting"]


@dataclass(frozen=True, slots=True)
class Counting:
    """What tokens are counted by."""

    counter: Counter
    template: Template
    model: str
    """The tokenizer's name."""


def counting(
    endpoint: Endpoint,
    profile_spec: str | None = None,
    model_spec: str | None = None,
    tokenizer_spec: str | None = None,
) -> Counting:
    """Fill in what the user did not name.

    Args:
        endpoint: what the session's requests call.
        profile_spec: `--profile`; by default the hosted API for `/v1/messages`, else `generic`.
        model_spec: `--model`: tokenizer and chat template together.
        tokenizer_spec: `--tokenizer`, where it is not the model's own.

    Raises:
        UsageError: something is named that there is not.
    """
    name = profile_spec or default_profile(endpoint).name
    hosted = name == "anthropic"
    chat = template(None if hosted else model_spec)
    backend = profile(name, chat)
    counted = tokenizer(tokenizer_spec or model_spec or ("claude" if hosted else DEFAULT))
    return Counting(Counter(backend, Encoder(counted), Parser()), chat, counted.name)
