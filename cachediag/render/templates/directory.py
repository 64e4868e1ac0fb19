"""The chat template of a model directory, and the special tokens that it may name."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from cachediag.errors import InputError
from cachediag.model import Json
from cachediag.render.models import chat_template, model_config
from cachediag.render.templates.jinja import Jinja
from cachediag.render.templates.qwen import Qwen3, Qwen25

__all__ = ["from_directory"]

_SPECIAL_TOKENS = (
    *("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"),
    "additional_special_tokens",
)
# Templates that have a renderer here, by the digest of their text.
_KNOWN: dict[str, type[Qwen25] | type[Qwen3]] = {
    "cd8e9439f0570856fd70470bf8889ebd8b5d1107207f67a5efb46e342330527f": Qwen25,
    # Written anew for the sandbox: cachediag/backends/sandbox/chatml.jinja.
    "59bcec807e4114db7318b66fa4b8ca8d439c851d239046f01eb4ee179ecd8194": Qwen25,
    "87a2728cb8dc9fe424d624542f6060ec05a1d285ebbec578bb078900e33396b5": Qwen3,
}


def from_directory(path: Path) -> Qwen25 | Qwen3 | Jinja:
    """The chat template of a model directory.

    Raises:
        InputError: there is none.
    """
    default = chat_template(path)
    if default is None:
        raise InputError(
            "has no chat template", where=str(path), remedy="Give a model that is made for chat."
        )
    with_tools = chat_template(path, tools=True) or default
    known = _KNOWN.get(sha256(default.encode()).hexdigest())
    if known is not None and with_tools == default:
        return known(path.name)
    sources = {"default": default, "tool_use": with_tools}
    return Jinja(path.name, sources, _special_tokens(model_config(path)))


def _special_tokens(config: Mapping[str, Json]) -> dict[str, Json]:
    return {
        name: _content(config[name]) for name in _SPECIAL_TOKENS if config.get(name) is not None
    }


def _content(token: Json) -> Json:
    if isinstance(token, list):
        return [_content(each) for each in token]
    return token.get("content") if isinstance(token, dict) else token
