"""The chat template of a model directory.

Where Transformers looks for it: `chat_template.jinja` (and `additional_chat_templates/`), else
`chat_template` in tokenizer_config.json, a text or several by name; else chat_template.json.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from cachediag.errors import InputError
from cachediag.model import Json
from cachediag.render.models import read_json
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
    "87a2728cb8dc9fe424d624542f6060ec05a1d285ebbec578bb078900e33396b5": Qwen3,
}


def from_directory(path: Path) -> Qwen25 | Qwen3 | Jinja:
    """The chat template of a model directory.

    Raises:
        InputError: there is none.
    """
    config = read_json(path / "tokenizer_config.json")
    config = config if isinstance(config, dict) else {}
    sources = _sources(path, config)
    if "default" not in sources:
        raise InputError(
            "has no chat template",
            where=str(path),
            remedy="Give a model that is made for chat.",
        )
    known = _KNOWN.get(sha256(sources["default"].encode()).hexdigest())
    if known is not None and len(sources) == 1:
        return known(path.name)
    return Jinja(path.name, sources, _special_tokens(path, config))


def _sources(path: Path, config: Mapping[str, Json]) -> dict[str, str]:
    own = path / "chat_template.jinja"
    if own.is_file():
        more = sorted((path / "additional_chat_templates").glob("*.jinja"))
        files = {"default": own} | {file.stem: file for file in more}
        return {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    given = config.get("chat_template")
    if given is None:
        beside = read_json(path / "chat_template.json")
        given = beside.get("chat_template") if isinstance(beside, dict) else None
    if isinstance(given, str):
        return {"default": given}
    return {
        str(each["name"]): str(each["template"])
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, dict) and {"name", "template"} <= each.keys()
    }


def _special_tokens(path: Path, config: Mapping[str, Json]) -> dict[str, Json]:
    beside = read_json(path / "special_tokens_map.json")
    found = {**(beside if isinstance(beside, dict) else {}), **config}
    return {name: _content(found[name]) for name in _SPECIAL_TOKENS if found.get(name) is not None}


def _content(token: Json) -> Json:
    if isinstance(token, list):
        return [_content(each) for each in token]
    return token.get("content") if isinstance(token, dict) else token
