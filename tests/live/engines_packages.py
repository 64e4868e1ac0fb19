"""Real engines, installed once and kept, and a tiny model for them to serve.

The model has the shape, the tokenizer and the chat template of Qwen2.5, and random weights but for
one thing: its replies are a sentence of its own, which ends. Random weights alone give text that
never ends and need not encode into the tokens that were generated.
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

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

_SIZE = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "intermediate_size": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "eos_token_id": 151645,
}
_CONFIGS: dict[str, dict[str, Any]] = {
    "qwen2": {
        "architectures": ["Qwen2ForCausalLM"],
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 32768,
        "rope_theta": 1e6,
    },
    "mamba2": {
        "architectures": ["Mamba2ForCausalLM"],
        "num_heads": 4,
        "head_dim": 32,
        "state_size": 16,
        "layer_norm_epsilon": 1e-5,
        "conv_kernel": 4,
        "n_groups": 1,
        "use_bias": False,
        "use_conv_bias": True,
        "time_step_limit": [0.001, 0.1],
        "time_step_rank": "auto",
    },
}

_AT_HAND = {("vllm-mlx", VLLM_MLX), ("mlx-lm", MLX_LM)}

_MAKE_MODEL = """
import importlib, json, sys
from pathlib import Path
import mlx.core as mx
from mlx.utils import tree_flatten
from transformers import AutoTokenizer

place, config, reply = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
module = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
mx.random.seed(7)
model = module.Model(module.ModelArgs.from_dict(config))
inner = model.backbone.embeddings if hasattr(model, "backbone") else model.model.embed_tokens
# A token is answered by the token that follows it in the reply: the embedding outweighs what the
# layers add, and the head of the follower points the way of the token's own embedding.
inner.weight *= 16
tokens = AutoTokenizer.from_pretrained(place).encode(reply)
assert len(set(tokens)) == len(tokens)
for token, follower in zip(tokens, tokens[1:]):
    model.lm_head.weight[follower] = inner.weight[token]
mx.eval(model.parameters())
mx.save_safetensors(
    str(place / "model.safetensors"), dict(tree_flatten(model.parameters())), {"format": "mlx"}
)
(place / "config.json").write_text(json.dumps(config))
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


def tiny_model(kind: str = "qwen2") -> Path:
    """The model's directory, in the layout of MLX.

    Args:
        kind: `qwen2`, or `mamba2` for layers whose cache cannot be trimmed.
    """
    place = clients._cache() / f"tiny-{kind}"
    if not place.exists():
        python, files = engines_python(), model_files("qwen2_5")
        with tempfile.TemporaryDirectory(dir=place.parent) as staging:
            made = Path(staging, "model")
            made.mkdir()
            for file in files.iterdir():
                shutil.copy(file, made)
            config = json.dumps({"model_type": kind} | _SIZE | _CONFIGS[kind])
            _run(python, "-c", _MAKE_MODEL, made, config, f"\n{REPLY}<|im_end|>")
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
