"""vLLM: cached tokens in the usage only with `--enable-prompt-tokens-details`; counters in tokens.

Source: https://docs.vllm.ai/en/stable/usage/metrics/ and, for the counters' unit,
https://docs.vllm.ai/en/v0.12.0/design/metrics/
"""

from dataclasses import dataclass

from cachediag.backends.asking import Response
from cachediag.backends.kinds.probe import Plain, Reading, counted
from cachediag.backends.metrics import rises

__all__ = ["PROBE"]


@dataclass(frozen=True, slots=True)
class _Vllm(Plain):
    def read_counters(self, before: Response, after: Response) -> Reading | None:
        """Tokens looked up and found; exact where one request ended between the readings."""
        rise = rises(before.text, after.text)
        hits = rise("vllm:prefix_cache_hits_total")
        queries = rise("vllm:prefix_cache_queries_total")
        if hits is None or queries is None or hits > queries:
            return None
        return counted(hits, queries - hits, alone=rise("vllm:request_success_total") == 1)


PROBE = _Vllm(
    "vllm",
    paths=("/version",),
    counters="/metrics",
    owner="vllm",
    version_at=("/version", "version"),
    profile="vllm",
)
