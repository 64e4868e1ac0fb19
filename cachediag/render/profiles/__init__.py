"""The table of profiles: one file each, named as on the command line."""

from collections.abc import Callable
from typing import Protocol

from cachediag.errors import UsageError
from cachediag.model import Endpoint, Prompt
from cachediag.render.profiles import anthropic, generic, vllm_mlx

__all__ = ["PROFILES", "Profile", "default_profile", "profile"]


class Profile(Protocol):
    """How a backend turns a request into the prompt that it prefills."""

    @property
    def name(self) -> str:
        """The name on the command line, with `@VERSION` where the version matters."""
        ...

    def arrange(self, prompt: Prompt) -> Prompt:
        """The prompt as this backend sees it, in the order in which it prefills it.

        Parts that it leaves alone stay the same objects.
        """
        ...


PROFILES: dict[str, Callable[[str | None], Profile]] = {
    "anthropic": anthropic.Anthropic,
    "generic": generic.Generic,
    "vllm-mlx": vllm_mlx.VllmMlx,
}


def profile(spec: str) -> Profile:
    """The profile that `NAME` or `NAME@VERSION` names.

    Raises:
        UsageError: there is none of that name, or the version is not a version.
    """
    name, _, version = spec.partition("@")
    if name not in PROFILES:
        raise UsageError(
            f"no profile is called {name!r}", remedy=f"Choose one of: {', '.join(PROFILES)}."
        )
    return PROFILES[name](version or None)


def default_profile(endpoint: Endpoint) -> Profile:
    """The profile for a request about whose backend nothing is known."""
    return anthropic.Anthropic() if endpoint in ("messages", "count_tokens") else generic.Generic()
