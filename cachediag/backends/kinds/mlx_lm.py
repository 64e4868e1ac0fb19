"""mlx-lm's own server: cached tokens in the usage of `/v1/chat/completions`, its only endpoint.

Held against the real server by the live tests. It names itself nowhere: it is recognised by the
Python server that it runs on, by what its health check says and by the headers it always sends.
Source: https://github.com/ml-explore/mlx-lm/blob/main/mlx_lm/server.py
"""

from dataclasses import dataclass

from cachediag.backends.kinds.probe import Plain, Recognised, Responses

__all__ = ["PROBE"]


@dataclass(frozen=True, slots=True)
class _MlxLm(Plain):
    def recognise(self, responses: Responses) -> Recognised | None:
        """By three signs together, none of which is its own."""
        answer = responses.get("/health")
        if answer is None or answer.json != {"status": "ok"}:
            return None
        if not answer.headers.get("server", "").startswith("BaseHTTP/"):
            return None
        if answer.headers.get("access-control-allow-methods") != "*":
            return None
        return self.recognised("what its health check answers, and how", sure="estimate")


PROBE = _MlxLm("mlx-lm", profile="mlx-lm")
