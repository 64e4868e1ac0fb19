"""Ollama: newest releases tell of cached tokens, older ones nowhere.

`/api/chat` has `prompt_eval_cached_count` within `prompt_eval_count`. How `/v1/messages` counts is
not documented; it is taken to count as the protocol's own server does. Sources:
https://docs.ollama.com/api-reference/get-version.md,
https://docs.ollama.com/api/anthropic-compatibility,
https://docs.ollama.com/api/introduction (`prompt_eval_cached_count`)
"""

import re
from dataclasses import dataclass

from cachediag.backends.kinds.probe import (
    Plain,
    Reading,
    Recognised,
    Responses,
    dig,
    owners,
    version,
)
from cachediag.model import Endpoint
from cachediag.protocol import bounded
from cachediag.protocol.response import count

__all__ = ["PROBE"]

_CACHED = re.compile(rb'^.*"prompt_eval_cached_count".*$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Ollama(Plain):
    def recognise(self, responses: Responses) -> Recognised | None:
        """By what it says at its root; others speak its API too."""
        found = version(dig(responses, "/api/version", "version"))
        root = responses.get("/")
        if root is not None and root.text.strip() == "Ollama is running":
            return self.recognised("what it says at /", found)
        if "library" in owners(responses) and found:
            return self.recognised("/api/version and its list of models", found, "estimate")
        return None

    def read_usage(
        self,
        recognised: Recognised,
        endpoint: Endpoint,
        content_type: str | None,
        body: bytes,
    ) -> Reading | None:
        """The usage, or the counts of its own protocol."""
        told = Plain.read_usage(self, recognised, endpoint, content_type, body)
        lines = _CACHED.findall(body)
        if told is not None or not lines:
            return told
        try:
            counts = bounded.loads(lines[-1].decode("utf-8", "replace"))
        except ValueError:
            return None
        cached, prompt = (count(counts, f"prompt_eval_{name}count") for name in ("cached_", ""))
        if cached is None:
            return None
        prefilled = prompt - cached if prompt is not None and prompt >= cached else None
        source = "prompt_eval_cached_count"
        return Reading(cached=cached, prefilled=prefilled, source=source)


PROBE = _Ollama("ollama", paths=("/", "/api/version"), messages_sure="estimate", engine="ollama")
