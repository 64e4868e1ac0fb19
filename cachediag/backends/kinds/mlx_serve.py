"""mlx-serve: cached tokens in every usage, always inclusive; counters with `--metrics`.

`mlx_serve:prefix_cache_tokens_total` (restored) and `mlx_serve:prefill_tokens_total` (computed) are
the whole prompt together. Source: https://github.com/ddalcu/mlx-serve/blob/main/docs/api.md
"""

from dataclasses import dataclass

from cachediag.backends.asking import Response
from cachediag.backends.kinds.probe import Plain, Reading, Recognised, Responses, counted, owners
from cachediag.backends.metrics import rises

__all__ = ["PROBE"]


@dataclass(frozen=True, slots=True)
class _MlxServe(Plain):
    def recognise(self, responses: Responses) -> Recognised | None:
        """By its own metrics, by `owned_by`, or by the page at its root."""
        if "/metrics" in responses and "mlx_serve:" in responses["/metrics"].text:
            return self.recognised("mlx_serve: in /metrics")
        if self.name in owners(responses):
            return self.recognised('"owned_by": "mlx-serve" in /v1/models')
        if "/" in responses and "mlx-serve" in responses["/"].text:
            return self.recognised("the page at /", sure="estimate")
        return None

    def read_counters(self, before: Response, after: Response) -> Reading | None:
        """Tokens restored and computed; exact where one request ended between the readings."""
        rise = rises(before.text, after.text)
        cached = rise("mlx_serve:prefix_cache_tokens_total")
        if cached is None:
            return None
        alone = rise("vllm:time_to_first_token_seconds_count") == 1
        return counted(cached, rise("mlx_serve:prefill_tokens_total"), alone=alone)


PROBE = _MlxServe(
    "mlx-serve",
    paths=("/metrics", "/"),
    counters="/metrics",
    messages="inclusive",
    owner="mlx-serve",
)
