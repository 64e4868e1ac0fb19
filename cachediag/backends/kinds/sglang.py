"""SGLang: cached tokens with `--enable-cache-report`, counters with `--enable-metrics`.

Sources: https://docs.sglang.io/docs/references/production_metrics,
https://mintlify.com/sgl-project/sglang/observability/metrics (`sglang:cached_tokens_total`)
"""

from dataclasses import dataclass

from cachediag.backends.asking import Response
from cachediag.backends.kinds.probe import Plain, Reading, counted
from cachediag.backends.metrics import rises

__all__ = ["PROBE"]


@dataclass(frozen=True, slots=True)
class _Sglang(Plain):
    def read_counters(self, before: Response, after: Response) -> Reading | None:
        """Tokens found in the tree; exact where one request was counted."""
        rise = rises(before.text, after.text)
        cached = rise("sglang:cached_tokens_total")
        prompt = rise("sglang:prompt_tokens_total")
        if cached is None:
            return None
        prefilled = prompt - cached if prompt is not None and prompt >= cached else None
        return counted(cached, prefilled, alone=rise("sglang:num_requests_total") == 1)


PROBE = _Sglang(
    "sglang",
    paths=("/get_server_info",),
    counters="/metrics",
    messages="inclusive",
    owner="sglang",
    version_at=("/get_server_info", "version"),
    engine="sglang",
)
