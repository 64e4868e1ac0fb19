"""The chat templates that prompts can be rendered with, by the model's name."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
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

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    def render(self, talk: Talk) -> Rendered:
        """The whole prompt, with the generation prompt. Blocks are numbered as in the request.

        Raises:
            InputError: the template refuses the request.
        """
        ...


TEMPLATES: dict[str, Callable[[str], Template]] = {"qwen2.5": Qwen25, "qwen3": Qwen3}
DEFAULT = "qwen3"

_STAND_INS = {
    "qwen2": Qwen25,
    "qwen2.5": Qwen25,
    "qwen3": Qwen3,
    "qwen3.5": Qwen3,
    "qwen3.6": Qwen3,
}
_FAMILY = re.compile(r"(?:.*/)?(qwen(?:2|2\.5|3|3\.5|3\.6))(?:-[^/]*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _StandIn:
    """The template of a relative, for a model whose own is not on this machine."""

    name: str
    relative: Template

    def render(self, talk: Talk) -> Rendered:
        note = f"The chat template of {self.name} is not here; a relative's stands for it."
        return replace(self.relative.render(talk), exact=False, notes=(note,))


def template(spec: str | None = None) -> Template:
    """The template of a model.

    Args:
        spec: a name out of `TEMPLATES`; a model's directory; the name of a model on this machine;
            or that of any Qwen model, whose prompts are then estimates. By default Qwen3's.

    Raises:
        UsageError: there is no such model here.
        InputError: the directory has no chat template.
    """
    spec = spec or DEFAULT
    if spec in TEMPLATES:
        return TEMPLATES[spec](spec)
    given = Path(spec).expanduser()
    path = given if given.is_dir() else find_model(spec)
    if path is not None:
        # It may bring Jinja along, which a model known by name does not need.
        from cachediag.render.templates.directory import from_directory

        return from_directory(path)
    if (family := _FAMILY.fullmatch(spec)) is not None:
        return _StandIn(spec, _STAND_INS[family[1].lower()](spec))
    raise UsageError(
        f"no model is called {spec!r}",
        remedy=f"Choose one of {', '.join(TEMPLATES)}, or give a model's directory.",
    )
