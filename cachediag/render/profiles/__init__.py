"""The table of profiles: one file each, named as on the command line."""

from collections.abc import Callable
from typing import Protocol

from cachediag.errors import UsageError
from cachediag.model import Endpoint, Prompt
from cachediag.render.profiles import anthropic, generic, llama_cpp, mlx_lm, vllm, vllm_mlx
from cachediag.render.rendered import Rendered
from cachediag.render.templates import Template, template

__all__ = ["PROFILES", "Profile", "default_profile", "profile"]


class Profile(Protocol):
    """How a backend turns a request into the prompt that it prefills.

    A profile remembers what it has converted and rendered, by the parts that prompts share: keep
    one for a session, and parse the session with one `Parser`. A message that was seen before
    then costs about a microsecond.
    """

    @property
    def name(self) -> str:
        """The name on the command line, with `@VERSION` where the version matters."""
        ...

    def arrange(self, prompt: Prompt) -> Prompt:
        """The prompt as this backend sees it, in the order in which it prefills it.

        Parts that it leaves alone stay the same objects.
        """
        ...

    def render(self, prompt: Prompt) -> Rendered:
        """What the backend's tokenizer is given, the generation prompt included.

        Args:
            prompt: the request as it was parsed, not arranged.

        Raises:
            InputError: the model's template refuses the request.
        """
        ...


PROFILES: dict[str, Callable[..., Profile]] = {
    "anthropic": anthropic.Anthropic,
    "generic": generic.Generic,
    "llama.cpp": llama_cpp.LlamaCpp,
    "mlx-lm": mlx_lm.MlxLm,
    "vllm": vllm.Vllm,
    "vllm-mlx": vllm_mlx.VllmMlx,
}
_OPTIONS = {"vllm-mlx": ("tools", "strip")}


def profile(spec: str, model: Template | None = None) -> Profile:
    """The profile that `NAME[@VERSION][:OPTION=VALUE,…]` names.

    Args:
        spec: the name.
        model: the chat template of the model that the backend serves; by default Qwen3's.

    Raises:
        UsageError: there is none of that name, or the version or an option is none.
    """
    head, _, given = spec.partition(":")
    name, _, version = head.partition("@")
    if name not in PROFILES:
        raise UsageError(
            f"no profile is called {name!r}", remedy=f"Choose one of: {', '.join(PROFILES)}."
        )
    options = dict(_option(name, each) for each in given.split(",") if each)
    return PROFILES[name](version or None, model or template(), **options)


def _option(name: str, given: str) -> tuple[str, str]:
    option, _, value = given.partition("=")
    known = _OPTIONS.get(name, ())
    if option not in known:
        choices = " or ".join(f"{name}:{each}=VALUE" for each in known)
        choice = f"Write {choices}." if known else f"Write {name} alone."
        raise UsageError(f"{name} has no option {option!r}", remedy=choice)
    return option, value


def default_profile(endpoint: Endpoint) -> Profile:
    """The profile for a request about whose backend nothing is known."""
    return anthropic.Anthropic() if endpoint in ("messages", "count_tokens") else generic.Generic()
