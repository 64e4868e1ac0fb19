"""MTPLX: `mtplx_stats` at the top of a response, with what was cached and what was prefilled.

Source: https://github.com/youssofal/MTPLX (`"owned_by": "mtplx"`; `cached_tokens`,
`new_prefill_tokens` in `mtplx_stats`). Its `/metrics` is JSON.
"""

import re
from dataclasses import dataclass

from cachediag.backends.kinds.probe import Plain, Reading, Recognised
from cachediag.model import Endpoint
from cachediag.protocol.response import count, events

__all__ = ["PROBE"]

_STATS = re.compile(rb'"mtplx_stats"')


@dataclass(frozen=True, slots=True)
class _Mtplx(Plain):
    def read_usage(
        self,
        recognised: Recognised,
        endpoint: Endpoint,
        content_type: str | None,
        body: bytes,
    ) -> Reading | None:
        """Its own statistics, or else the usage."""
        for event in events(content_type, body, _STATS):
            stats = event.get("mtplx_stats") if isinstance(event, dict) else None
            cached, prefilled = count(stats, "cached_tokens"), count(stats, "new_prefill_tokens")
            if cached is not None:
                source = "mtplx_stats.cached_tokens"
                return Reading(cached=cached, prefilled=prefilled, source=source)
        return Plain.read_usage(self, recognised, endpoint, content_type, body)


PROBE = _Mtplx("mtplx", owner="mtplx", messages_sure="estimate")
