"""vLLM: cached tokens in the usage only with `--enable-prompt-tokens-details`; counters in tokens.

Source: https://docs.vllm.ai/en/stable/usage/metrics/ and, for the counters' unit,
https://docs.vllm.ai/en/v0.12.0/design/metrics/
"""

from dataclasses import dataclass

from cachediag.backends.asking import Response
from cachediag.backends.kinds.probe import (
    Plain,
    Reading,
    Recognised,
    Responses,
    dig,
    owners,
    version,
)
from cachediag.backends.metrics import read_metrics, risen

__all__ = ["PROBE"]


@dataclass(frozen=True, slots=True)
class _Vllm(Plain):
    def recognise(self, responses: Responses) -> Recognised | None:
        """By `owned_by`; the version stands in `/version`."""
        if "vllm" not in owners(responses):
            return None
        found = version(dig(responses, "/version", "version"))
        return self.recognised('"owned_by": "vllm" in /v1/models', found)

    def read_counters(self, before: Response, after: Response) -> Reading | None:
        """Tokens looked up and found; exact where one request ended between the readings."""
        was, now = read_metrics(before.text), read_metrics(after.text)
        hits = risen(was, now, "vllm:prefix_cache_hits_total")
        queries = risen(was, now, "vllm:prefix_cache_queries_total")
        if hits is None or queries is None or hits > queries:
            return None
        alone = risen(was, now, "vllm:request_success_total") == 1
        return Reading(
            cached=hits,
            prefilled=queries - hits,
            sure="exact" if alone else "estimate",
            source="counters of /metrics",
        )


PROBE = _Vllm("vllm", paths=("/version",), counters="/metrics", profile="vllm")
