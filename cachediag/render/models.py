"""Model directories on this machine: by path, in the Hugging Face cache, in LM Studio's folder.

Source of the cache's layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
"""

import os
from collections.abc import Iterator
from pathlib import Path

from cachediag.errors import InputError, UsageError
from cachediag.model import Json
from cachediag.protocol import bounded

__all__ = ["chat_template", "find_model", "model_config"]

_TOKENIZER = "tokenizer.json"
_CONFIG = "tokenizer_config.json"


def find_model(name: str) -> Path | None:
    """The directory of a model that was downloaded before; None where there is none.

    Args:
        name: `ORG/NAME`, or `NAME` where only one organisation's is here.

    Raises:
        UsageError: several organisations' models have this name.
    """
    organisation, _, model = name.rpartition("/")
    if not model:
        return None
    found = [*_in_hub(organisation, model), *_in_lm_studio(organisation, model)]
    owners = sorted({owner for owner, _ in found})
    if len(owners) > 1:
        choices = ", ".join(f"{owner}/{model}" for owner in owners)
        raise UsageError(f"several models are called {name}", remedy=f"Choose one of: {choices}.")
    return found[0][1] if found else None


def _in_hub(organisation: str, model: str) -> Iterator[tuple[str, Path]]:
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    home = Path(os.environ.get("HF_HOME") or home)
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()
    for repository in sorted(hub.glob(f"models--{_literal(organisation)}--{_literal(model)}")):
        for snapshot in _snapshots(repository):
            if (snapshot / _TOKENIZER).is_file():
                yield repository.name.split("--")[1], snapshot
                break


def _snapshots(repository: Path) -> Iterator[Path]:
    """The snapshots of a repository, the one that `main` names first, then the newest."""
    snapshots = repository / "snapshots"
    main = repository / "refs" / "main"
    if main.is_file():
        yield snapshots / main.read_text(encoding="utf-8", errors="replace").strip("\0 \n")
    yield from sorted(snapshots.glob("*"), key=lambda path: path.stat().st_mtime, reverse=True)


def _in_lm_studio(organisation: str, model: str) -> Iterator[tuple[str, Path]]:
    for models in ("~/.lmstudio/models", "~/.cache/lm-studio/models"):
        pattern = f"{_literal(organisation)}/{_literal(model)}"
        for directory in sorted(Path(models).expanduser().glob(pattern)):
            if (directory / _TOKENIZER).is_file():
                yield directory.parent.name, directory


def _literal(name: str) -> str:
    """A name as a glob pattern; that of any name, where it is empty."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name) or "*"


def model_config(directory: Path) -> Json:
    """A model's `tokenizer_config.json`; empty where it has none.

    Raises:
        InputError: it is not JSON, or no object.
    """
    file = directory / _CONFIG
    if not file.is_file():
        return {}
    try:
        config = bounded.decode(file.read_bytes())
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=str(file), remedy="Check who may read it."
        ) from None
    except InputError as error:
        raise InputError(error.message, where=str(file), remedy=error.remedy) from None
    if not isinstance(config, dict):
        raise InputError("not a JSON object", where=str(file), remedy="Download the model anew.")
    return config


def chat_template(directory: Path, *, tools: bool = False) -> str | None:
    """A model's chat template, found where `transformers` looks for it; None where it has none.

    Args:
        directory: the model's.
        tools: take the template for requests with tools, where the model has one for these.

    Raises:
        InputError: its file cannot be read.
    """
    file = directory / "chat_template.jinja"
    if file.is_file():
        special = directory / "additional_chat_templates" / "tool_use.jinja"
        return _read(special if tools and special.is_file() else file)
    template = model_config(directory).get("chat_template")
    if not isinstance(template, list):
        return template if isinstance(template, str) else None
    named = {
        one["name"]: one["template"]
        for one in template
        if isinstance(one, dict)
        and isinstance(one.get("name"), str)
        and isinstance(one.get("template"), str)
    }
    return (named.get("tool_use") if tools else None) or named.get("default")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = (error.strerror if isinstance(error, OSError) else None) or "not UTF-8 text"
        raise InputError(
            f"cannot be read ({what})", where=str(file), remedy="Download the model anew."
        ) from None
