"""claude-code-local's server: nothing in its usage; a line in its log for each request.

The health check has `prefill_size`; a line is `Cache hit: N reused, M new tokens to prefill` or
`Cache miss: full prefill of N tokens`. Source:
https://github.com/nicedreamzapp/claude-code-local/blob/main/proxy/server.py
"""

import re
from dataclasses import dataclass

from cachediag.backends.kinds.probe import Plain, Reading, Recognised, Responses, dig

__all__ = ["PROBE"]

_LOOKED_UP = re.compile(
    r"Cache (?:hit: (?P<reused>\d{1,15}) reused, (?P<new>\d{1,15}) new"
    r"|miss: full prefill of (?P<all>\d{1,15})\b)"
)


@dataclass(frozen=True, slots=True)
class _ClaudeCodeLocal(Plain):
    def recognise(self, responses: Responses) -> Recognised | None:
        """By a field of its health check that no other has."""
        if not isinstance(dig(responses, "/health", "prefill_size"), int):
            return None
        return self.recognised("prefill_size in /health")

    def read_log(self, text: str) -> Reading | None:
        """The line of the lookup; None where there is none, or more than one."""
        found = list(_LOOKED_UP.finditer(text))
        if len(found) != 1:
            return None
        cached, new, whole = (int(found[0][name] or 0) for name in ("reused", "new", "all"))
        return Reading(cached=cached, prefilled=new or whole, source="log")


PROBE = _ClaudeCodeLocal("claude-code-local")
