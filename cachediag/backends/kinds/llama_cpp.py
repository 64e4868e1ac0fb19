"""llama.cpp's server: cached tokens in every usage, and in `timings` beside it.

`timings.cache_n` are tokens reused, `timings.prompt_n` tokens processed. Sources:
https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md,
https://mvysny.github.io/llama-server-endpoints/ (`/props` with `build_info`)
"""

import re
from dataclasses import dataclass

from cachediag.backends.asking import Response
from cachediag.backends.kinds.probe import (
    Plain,
    Reading,
    Recognised,
    Responses,
    counted,
    dig,
    owners,
    version,
)
from cachediag.backends.metrics import rises
from cachediag.model import Endpoint
from cachediag.protocol.response import count, events

__all__ = ["PROBE"]

_TIMINGS = re.compile(rb'"timings"')


@dataclass(frozen=True, slots=True)
class _LlamaCpp(Plain):
    def recognise(self, responses: Responses) -> Recognised | None:
        """By its `Server` header or by `owned_by`; the build stands in `/props`."""
        build = version(dig(responses, "/props", "build_info"))
        headers = (answer.headers.get("server", "") for answer in responses.values())
        if any(header == "llama.cpp" for header in headers):
            return self.recognised("its Server header", build)
        if "llamacpp" in owners(responses):
            return self.recognised('"owned_by": "llamacpp" in /v1/models', build)
        return None

    def read_usage(
        self,
        recognised: Recognised,
        endpoint: Endpoint,
        content_type: str | None,
        body: bytes,
    ) -> Reading | None:
        """The timings, which have both counts, or else the usage."""
        for event in events(content_type, body, _TIMINGS):
            timings = event.get("timings") if isinstance(event, dict) else None
            cached, prefilled = count(timings, "cache_n"), count(timings, "prompt_n")
            if cached is not None and prefilled is not None:
                return Reading(cached=cached, prefilled=prefilled, source="timings.cache_n")
        return Plain.read_usage(self, recognised, endpoint, content_type, body)

    def read_counters(self, before: Response, after: Response) -> Reading | None:
        """Tokens processed; not how many were taken from a slot."""
        prefilled = rises(before.text, after.text)("llamacpp:prompt_tokens_total")
        return None if prefilled is None else counted(None, prefilled)


PROBE = _LlamaCpp("llama.cpp", paths=("/props",), counters="/metrics", profile="llama.cpp")
