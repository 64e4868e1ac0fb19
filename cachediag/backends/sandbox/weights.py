"""Writes a model's weights. A script, run by the sandbox's interpreter, which has MLX.

`weights.py DIRECTORY CONFIG REPLY`: the directory holds the tokenizer, the configuration is JSON.

With a reply, the model always says it: a token is answered by the token that follows it in the
reply, because the embedding outweighs what the layers add, and the head of the follower points the
way of the token's own embedding. Without one the weights are random, and so is what it says: a
function of the whole prompt that never ends by itself.
"""

import importlib
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

__all__: list[str] = []


def _main(place: Path, config: dict[str, Any], reply: str) -> None:
    mx = importlib.import_module("mlx.core")
    tree_flatten = importlib.import_module("mlx.utils").tree_flatten
    module = importlib.import_module(f"mlx_lm.models.{config['model_type']}")
    mx.random.seed(7)
    model = module.Model(module.ModelArgs.from_dict(config))
    if reply:
        transformers = importlib.import_module("transformers")
        inner = (
            model.backbone.embeddings if hasattr(model, "backbone") else model.model.embed_tokens
        )
        inner.weight *= 16
        tokens = transformers.AutoTokenizer.from_pretrained(place).encode(reply)
        assert len(set(tokens)) == len(tokens)
        for token, follower in pairwise(tokens):
            model.lm_head.weight[follower] = inner.weight[token]
    mx.eval(model.parameters())
    mx.save_safetensors(
        str(place / "model.safetensors"), dict(tree_flatten(model.parameters())), {"format": "mlx"}
    )
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")


if __name__ == "__main__":
    _main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3])
