"""SGLang: cached tokens with `--enable-cache-report`, counters with `--enable-metrics`.

Sources: https://docs.sglang.io/docs/references/production_metrics,
https://mintlify.com/sgl-project/sglang/observability/metrics (`sglang:cached_tokens_total`)
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
class _Sglang(Plain):
    def recognise(self, responses: Responses) -> Recognised | None:
        """By `owned_by`; the version stands in `/get_server_info`."""
        if "sglang" not in owners(responses):
            return None
        found = version(dig(responses, "/get_server_info", "version"))
        return self.recognised('"owned_by": "sglang" in /v1/models', found)

    def read_counters(self, before: Response, after: Response) -> Reading | None:
        """Tokens found in the tree; exact where one request was counted."""
        was, now = read_metrics(before.text), read_metrics(after.text)
        cached = risen(was, now, "sglang:cached_tokens_total")
        prompt = risen(was, now, "sglang:prompt_tokens_total")
        if cached is None:
            return None
        alone = risen(was, now, "sglang:num_requests_total") == 1
        return Reading(
            cached=cached,
            prefilled=prompt - cached if prompt is not None and prompt >= cached else None,
            sure="exact" if alone else "estimate",
            source="counters of /metrics",
        )


PROBE = _Sglang(
    "sglang",
    paths=("/get_server_info",),
    counters="/metrics",
    messages="inclusive",
    engine="sglang",
)
