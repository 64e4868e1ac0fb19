"""Rapid-MLX: cached tokens in every usage, disjoint on `/v1/messages`; counters in `/metrics`.

It began as vllm-mlx and shares much of its API, so it is looked for first. Source:
https://github.com/raullenchai/Rapid-MLX (`rapid_mlx_build_info{version,model}`,
`rapid_mlx_prefix_cache_{hits,misses,tokens_saved}_total`)
"""

from dataclasses import dataclass

from cachediag.backends.asking import Response
from cachediag.backends.kinds.probe import (
    Plain,
    Reading,
    Recognised,
    Responses,
    counted,
    owners,
    version,
)
from cachediag.backends.metrics import label, rises

__all__ = ["PROBE"]

_CACHE = "rapid_mlx_prefix_cache"


@dataclass(frozen=True, slots=True)
class _RapidMlx(Plain):
    def recognise(self, responses: Responses) -> Recognised | None:
        """By its own metric, which has the version, or by `owned_by`."""
        metrics = responses.get("/metrics")
        text = "" if metrics is None else metrics.text
        if "rapid_mlx_build_info" in text:
            found = version(label(text, "rapid_mlx_build_info", "version"))
            return self.recognised("rapid_mlx_build_info in /metrics", found)
        if self.name in owners(responses):
            return self.recognised('"owned_by": "rapid-mlx" in /v1/models')
        return None

    def read_counters(self, before: Response, after: Response) -> Reading | None:
        """Tokens saved; exact where one lookup was counted."""
        rise = rises(before.text, after.text)
        saved = rise(f"{_CACHE}_tokens_saved_total")
        if saved is None:
            return None
        lookups = [rise(f"{_CACHE}_{name}_total") or 0 for name in ("hits", "misses")]
        return counted(saved, alone=sum(lookups) == 1)


PROBE = _RapidMlx("rapid-mlx", paths=("/metrics",), counters="/metrics", owner="rapid-mlx")
