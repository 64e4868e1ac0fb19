"""The table of tokenizers: one file each, named as on the command line. All work offline."""

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from cachediag.errors import InputError, UsageError
from cachediag.render.models import find_model, model_config
from cachediag.tokens.tokenizers import claude, openai, qwen, rank_file, tokenizer_json

__all__ = ["TOKENIZERS", "Tokenizer", "tokenizer"]


class Tokenizer(Protocol):
    """How a model's text becomes tokens."""

    @property
    def name(self) -> str:
        """The name on the command line, or the file it was read from."""
        ...

    @property
    def exact(self) -> bool:
        """The ids are the model's own; else their number is an estimate."""
        ...

    @property
    def special(self) -> Mapping[str, int]:
        """Texts that become one token wherever they stand, and before which a text can be cut."""
        ...

    @property
    def cuts(self) -> re.Pattern[str] | None:
        """Matches a space before which, or a line feed after which, a text can be cut too."""
        ...

    def encode(self, text: str) -> list[int]:
        """Ids of a text as an engine's tokenizer gives them.

        Special-token text is taken as the special token, in what a user wrote too: engines encode
        the rendered prompt, which does not say who wrote what. No token is added. A lone
        surrogate, which engines refuse, counts as U+FFFD.
        """
        ...

    def characters(self, text: str, token: int) -> int:
        """Characters of a text before one of its tokens; its length, where it has fewer tokens."""
        ...

    def vocabulary(self) -> list[bytes]:
        """What each id stands for, special tokens too; empty for an id that is none."""
        ...


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "qwen2": partial(qwen.load, "qwen2"),
    "qwen2.5": partial(qwen.load, "qwen2.5"),
    "qwen3": partial(qwen.load, "qwen3"),
    "qwen3.5": partial(qwen.load, "qwen3.6"),
    "qwen3.6": partial(qwen.load, "qwen3.6"),
    "o200k": partial(openai.load, "o200k"),
    "cl100k": partial(openai.load, "cl100k"),
    "claude": claude.load,
}

_FAMILY = re.compile(r"(?:.*/)?(qwen(?:2|2\.5|3|3\.5|3\.6))-[^/]*", re.IGNORECASE)


def tokenizer(spec: str) -> Tokenizer:
    """The tokenizer that a name, a file or a model stands for.

    Args:
        spec: a name of `TOKENIZERS`; a `tokenizer.json`, a tiktoken rank file or a model's
            directory; the name of a model on this machine; or that of any Qwen or Claude model.

    Raises:
        UsageError: there is no such tokenizer, or what it needs is not on this machine.
        InputError: the file cannot be read as a tokenizer.
    """
    if spec in TOKENIZERS:
        return TOKENIZERS[spec]()
    path = Path(spec).expanduser()
    if path.exists():
        return _from_path(path)
    if (directory := find_model(spec)) is not None:
        return _from_path(directory)
    if (family := _FAMILY.fullmatch(spec)) is not None:
        return TOKENIZERS[family[1].lower()]()
    if spec.startswith("claude-"):
        return claude.load(spec)
    raise UsageError(
        f"no tokenizer, file or downloaded model is called {spec!r}",
        remedy=f"Choose one of {', '.join(TOKENIZERS)}, or give a tokenizer.json, a tiktoken rank "
        "file or a model's directory.",
    )


def _from_path(path: Path) -> Tokenizer:
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise InputError(
            "the directory holds no tokenizer.json",
            where=str(path),
            remedy="Give a model's directory in the layout of Hugging Face or MLX.",
        )
    if not os.access(file, os.R_OK):
        raise InputError("cannot be read", where=str(file), remedy="Check who may read it.")
    if file.suffix == ".json":
        return tokenizer_json.load(file, model_config(file.parent))
    return rank_file.load(file)
