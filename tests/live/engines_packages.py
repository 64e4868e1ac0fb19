"""The sandbox of the live tests: real engines and a tiny model, kept with the clients."""

from pathlib import Path

from cachediag.backends import sandbox
from cachediag.backends.sandbox import REPLY, Engine, Kind, Sandbox
from tests.live import clients

__all__ = ["MLX_LM", "REPLY", "VLLM_MLX", "engines_python", "live_sandbox", "package", "tiny_model"]

VLLM_MLX, MLX_LM = "0.6.0", "0.31.3"
"""The releases that most tests are about."""


def live_sandbox() -> Sandbox:
    """The sandbox, in the directory of what the live tests keep."""
    return Sandbox(clients._cache() / "sandbox")


def engines_python() -> Path:
    """The interpreter of the environment that the engines run in."""
    return sandbox.python(live_sandbox())


def package(engine: Engine, release: str) -> Path:
    """A directory to put before the environment's own packages: it holds this release alone."""
    return sandbox.site(live_sandbox(), engine, release)


def tiny_model(kind: Kind = "qwen2") -> Path:
    """The model's directory, in the layout of MLX."""
    return sandbox.model(live_sandbox(), kind)
