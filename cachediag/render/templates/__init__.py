"""The chat templates that prompts can be rendered with, by the model's name."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from cachediag.errors import UsageError
from cachediag.render.models import find_model
from cachediag.render.rendered import Rendered
from cachediag.render.templates.qwen import Qwen3, Qwen25
from cachediag.render.turns import Talk

__all__ = ["DEFAULT", "TEMPLATES", "Template", "template"]


class Template(Protocol):
    """A model's chat template."""

    name: str
    """The model's name."""

    def render(self, talk: Talk) -> Rendered:
        """The whole prompt, with the generation prompt. Blocks are numbered as in the request.

        Raises:
            InputError: the template refuses the request.
        """
        ...


TEMPLATES: dict[str, Callable[[str], Template]] = {"qwen2.5": Qwen25, "qwen3": Qwen3}
DEFAULT = "qwen3"


def template(spec: str | None = None) -> Template:
    """The template of a model.

    Args:
        spec: a name out of `TEMPLATES`, a model directory, or the name of a model in the local
            hub cache; by default Qwen3's.

    Raises:
        UsageError: there is no such model here.
        InputError: the directory has no chat template.
    """
    spec = spec or DEFAULT
    if spec in TEMPLATES:
        return TEMPLATES[spec](spec)
    given = Path(spec).expanduser()
    path = given if given.is_dir() else find_model(spec)
    if path is None:
        raise UsageError(
            f"no model is called {spec!r}",
            remedy=f"Choose one of {', '.join(TEMPLATES)}, or give a model directory.",
        )
    from cachediag.render.templates.directory import from_directory

    return from_directory(path)
