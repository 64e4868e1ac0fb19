"""Real engines, installed once and kept, and a tiny model for them to serve.

The model has the shape, the tokenizer and the chat template of Qwen2.5, and random weights but for
one thing: its replies are a sentence of its own, which ends. Random weights alone give text that
never ends and need not encode into the tokens that were generated.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests.live import clients
from tests.live.tokenizer_files import model_files

__all__ = ["MLX_LM", "REPLY", "VLLM_MLX", "engines_python", "package", "tiny_model"]

VLLM_MLX, MLX_LM = "0.6.0", "0.31.3"
"""The releases that the environment holds."""

REPLY = "All is well on board."
"""What the model always says, if it may say six tokens and end its turn."""

# vllm-mlx declares 6.5 GB of dependencies that serving a text model does not need.
_NEEDED = (
    *("mlx[cpu]==0.32.4", f"mlx-lm=={MLX_LM}", "fastapi", "uvicorn", "prometheus-client"),
    *("psutil", "jsonschema", "requests", "python-multipart"),
)

_AT_HAND = {("vllm-mlx", VLLM_MLX), ("mlx-lm", MLX_LM)}

_MAKE_MODEL = """
import json, sys
from pathlib import Path
import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_lm.models import qwen2
from transformers import AutoTokenizer

place, reply = Path(sys.argv[1]), sys.argv[2]
config = dict(
    model_type="qwen2", hidden_size=64, num_hidden_layers=2, intermediate_size=128,
    num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6, vocab_size=151936,
    max_position_embeddings=32768, rope_theta=1e6, tie_word_embeddings=False,
)
mx.random.seed(7)
model = qwen2.Model(qwen2.ModelArgs.from_dict(config))
# A token is answered by the token that follows it in the reply: the embedding outweighs what the
# layers add, and the head of the follower points the way of the token's own embedding.
model.model.embed_tokens.weight *= 16
tokens = AutoTokenizer.from_pretrained(place).encode(reply)
assert len(set(tokens)) == len(tokens)
for token, follower in zip(tokens, tokens[1:]):
    model.lm_head.weight[follower] = model.model.embed_tokens.weight[token]
mx.eval(model.parameters())
mx.save_safetensors(
    str(place / "model.safetensors"), dict(tree_flatten(model.parameters())), {"format": "mlx"}
)
more = {"architectures": ["Qwen2ForCausalLM"], "torch_dtype": "float32", "eos_token_id": 151645}
(place / "config.json").write_text(json.dumps(config | more))
"""


def engines_python() -> Path:
    """The interpreter of an environment that holds vllm-mlx and mlx-lm."""
    place = clients._cache() / f"vllm-mlx-{VLLM_MLX}"
    python = place / "bin" / "python"
    if not place.exists():
        _build(place)
    return python


def package(engine: str, release: str) -> Path:
    """A directory to put before the environment's own packages: it holds this release alone.

    Args:
        engine: `vllm-mlx` or `mlx-lm`.
        release: the release; the directory is empty where the environment itself holds it.
    """
    place = clients._cache() / f"{engine}-{release}-alone"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as staging:
            made = Path(staging, "package")
            made.mkdir()
            if (engine, release) not in _AT_HAND:
                _run(*_pip(engines_python()), "--no-deps", "--target", made, f"{engine}=={release}")
            made.rename(place)
    return place


def tiny_model() -> Path:
    """The model's directory, in the layout of MLX."""
    place = clients._cache() / "tiny-qwen2.5"
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=clients._cache()) as staging:
            made = Path(staging, "model")
            made.mkdir()
            for file in model_files("qwen2_5").iterdir():
                shutil.copy(file, made)
            _run(engines_python(), "-c", _MAKE_MODEL, made, f"\n{REPLY}<|im_end|>")
            made.rename(place)
    return place


def _build(place: Path) -> None:
    # Put in place only when it is complete. Nothing in it is run by its own path but the
    # interpreter, which finds its environment wherever that stands.
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as staging:
        made = Path(staging, "environment")
        _run(sys.executable, "-m", "venv", made)
        pip = _pip(made / "bin" / "python")
        _run(*pip, *_NEEDED)
        _run(*pip, "--no-deps", f"vllm-mlx=={VLLM_MLX}")
        made.rename(place)


def _pip(python: Path) -> tuple[str | Path, ...]:
    return python, "-m", "pip", "install", "--disable-pip-version-check"


def _run(*command: str | Path) -> None:
    said = clients.run(command, env=os.environ, cwd=Path.cwd(), timeout=900)
    if said.code != 0:
        pytest.fail(f"{command} failed:\n{said.stderr[-2000:]}")
