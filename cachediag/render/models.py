"""Models that are on this machine: a directory as Hugging Face and MLX lay it out."""

import json
import os
from pathlib import Path

from cachediag.errors import InputError
from cachediag.model import Json

__all__ = ["model_directory", "read_json"]


def model_directory(spec: str) -> Path | None:
    """The directory of a model, by its path or by its name in the local hub cache.

    Args:
        spec: a path, or a name such as `Qwen/Qwen3-8B`.

    Returns:
        None where there is no such directory. Nothing is fetched.
    """
    given = Path(spec).expanduser()
    if given.is_dir():
        return given
    kept = _hub_cache() / f"models--{spec.replace('/', '--')}"
    if "/" not in spec or not kept.is_dir():
        return None
    main = kept / "refs" / "main"
    if main.is_file():
        return kept / "snapshots" / main.read_text(encoding="utf-8").strip()
    return max(kept.glob("snapshots/*"), key=lambda path: path.stat().st_mtime, default=None)


def _hub_cache() -> Path:
    if chosen := os.environ.get("HF_HUB_CACHE"):
        return Path(chosen)
    home = os.environ.get("HF_HOME")
    return (Path(home) if home else Path.home() / ".cache" / "huggingface") / "hub"


def read_json(path: Path) -> Json:
    """The value in a JSON file; None where there is no such file.

    Raises:
        InputError: it cannot be read, or is no JSON.
    """
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"not readable as JSON: {error}",
            where=str(path),
            remedy="Give a complete model directory.",
        ) from None
