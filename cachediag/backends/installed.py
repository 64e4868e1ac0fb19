"""What cachediag can use on this machine, and what it cannot."""

import importlib.metadata
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from cachediag import __version__, extras
from cachediag.backends.sandbox import install
from cachediag.errors import CachediagError
from cachediag.tokens.tokenizers import TOKENIZERS, tokenizer

__all__ = ["Item", "Need", "installed"]

Need = Literal["needed", "optional"]

_ASKED_SECONDS: Final = 10.0
_PACKAGES: tuple[tuple[str, Need, str, str], ...] = (
    ("mitmproxy", "needed", "recording", "pip install 'mitmproxy>=11.0.2'"),
    ("deepdiff", "needed", "comparing blocks", "pip install 'deepdiff>=8.0'"),
    (
        "tokenizers",
        "optional",
        "rare tokenizer.json files",
        extras.install("tokenizers"),
    ),
    ("mlx", "optional", "a backend in this environment", extras.install("mlx")),
    ("mlx-lm", "optional", "a backend in this environment", extras.install("mlx")),
    ("vllm-mlx", "optional", "a backend in this environment", "pip install vllm-mlx"),
)
_PROGRAMS: tuple[tuple[str, str, str], ...] = (
    ("uv", "making the sandbox ten times faster", "pip install uv"),
    ("node", "Claude Code and exported scripts", "install Node.js 20 or newer: https://nodejs.org"),
    ("npm", "installing Claude Code", "install Node.js 20 or newer: https://nodejs.org"),
    ("claude", "recording Claude Code", "npm install -g @anthropic-ai/claude-code"),
)
_TOKENIZERS = ("qwen2.5", "qwen3.6", "claude", "o200k", "cl100k")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing, and whether it is there."""

    name: str
    kind: Literal["package", "program", "tokenizer"]
    need: Need
    version: str | None
    """None where it is missing, or does not say."""
    there: bool
    purpose: str
    """What it is for."""
    mend: str
    """What to do where it is missing."""
    exact: bool | None = None
    """Whether a tokenizer's ids are the model's own; None for what is no tokenizer."""


def installed() -> Iterator[Item]:
    """Look for everything, one after another."""
    yield Item("cachediag", "package", "needed", __version__, True, "", "")
    for name, need, purpose, mend in _PACKAGES:
        found = _package(name)
        yield Item(name, "package", need, found, found is not None, purpose, mend)
    yield Item("python", "program", "needed", platform.python_version(), True, "", "")
    for name, purpose, mend in _PROGRAMS:
        path = install.uv() if name == "uv" else shutil.which(name)
        found = None if path is None else _version(path)
        yield Item(name, "program", "optional", found, path is not None, purpose, mend)
    for name in _TOKENIZERS:
        yield _tokenizer(name)


def _package(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _version(program: str) -> str | None:
    """What a program says of its version; None where it does not."""
    try:
        done = subprocess.run(  # noqa: S603 - found on the path by its name
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASKED_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rb"\d+(?:\.\d+)+", done.stdout)
    return found[0].decode() if found else None


def _tokenizer(name: str) -> Item:
    assert name in TOKENIZERS
    purpose, mend = "counting tokens", ""
    try:
        exact: bool | None = tokenizer(name).exact
    except CachediagError as error:
        exact, mend = None, error.remedy or error.message
    return Item(name, "tokenizer", "optional", None, exact is not None, purpose, mend, exact)
