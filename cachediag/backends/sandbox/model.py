"""Tiny models that the engines serve: real tokenizer, real chat format, weights out of a die.

They have the shape, the tokenizer and the chat format of Qwen2.5, so that a prompt has as many
tokens as a real model's, and a prefill costs time that can be measured and waited for.
"""

import json
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from cachediag.backends.sandbox.install import python
from cachediag.backends.sandbox.place import Sandbox, kept
from cachediag.backends.sandbox.tokenizer import write_tokenizer
from cachediag.errors import UpstreamError

__all__ = ["KINDS", "MODEL_SPEC", "REPLY", "Kind", "model", "model_place"]

Kind = Literal["qwen2", "qwen2-random", "mamba2"]
"""`qwen2` always answers with `REPLY` and ends. `qwen2-random` says what follows from the whole
prompt, and never ends by itself. `mamba2` is like `qwen2`, of layers whose cache cannot be
trimmed."""

REPLY: Final = "All is well on board."
"""What the models say, if they may say six tokens and end their turn."""

MODEL_SPEC: Final = "qwen2.5"
"""`--model` for what these models' prompts are rendered and counted by, exactly."""

_SIZE = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "intermediate_size": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "eos_token_id": 151645,
}
_QWEN2 = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 32768,
    "rope_theta": 1e6,
}
_MAMBA2 = {
    "model_type": "mamba2",
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
}


@dataclass(frozen=True, slots=True)
class _Recipe:
    config: dict[str, Any]
    reply: str = f"\n{REPLY}<|im_end|>"


KINDS: dict[Kind, _Recipe] = {
    "qwen2": _Recipe(_QWEN2),
    "qwen2-random": _Recipe(_QWEN2, reply=""),
    "mamba2": _Recipe(_MAMBA2),
}

_WEIGHTS = Path(__file__).with_name("weights.py")
_MADE_BY = ("weights.py", "tokenizer.py", "chatml.jinja")


def model_place(sandbox: Sandbox, kind: Kind) -> Path:
    """Where a model stands, or will; one that is made in another way has another place."""
    recipe = KINDS[kind]
    digest = sha256(json.dumps([_SIZE, recipe.config, recipe.reply]).encode())
    for name in _MADE_BY:
        digest.update(_WEIGHTS.with_name(name).read_bytes())
    return sandbox.root / "models" / f"{kind}-{digest.hexdigest()[:10]}"


def model(sandbox: Sandbox, kind: Kind = "qwen2") -> Path:
    """A model's directory in the layout of MLX, 90 MB; it is made where there is none.

    Raises:
        UsageError: MLX does not run on this machine.
        UpstreamError: the environment cannot be installed, or the model cannot be made.
    """
    interpreter, recipe = python(sandbox), KINDS[kind]

    def make(made: Path) -> None:
        sandbox.tell("making a tiny model with the tokenizer of Qwen2.5")
        made.mkdir()
        write_tokenizer(made)
        config = json.dumps(_SIZE | recipe.config)
        words = [str(interpreter), "-I", str(_WEIGHTS), str(made), config, recipe.reply]
        done = subprocess.run(  # noqa: S603 - no shell
            words, capture_output=True, text=True, check=False
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["it said nothing"]
            raise UpstreamError(
                f"the sandbox's model cannot be made: {lines[-1][:200]}",
                remedy=f"Remove {sandbox.root} and try again.",
            )

    return kept(sandbox, model_place(sandbox, kind), make)
