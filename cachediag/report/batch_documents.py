"""`cachediag.batch/1`: many sessions as a whole."""

from cachediag.batch.summary import Summary
from cachediag.model import Json

__all__ = ["batch"]


def batch(made: Summary, rows: str | None) -> dict[str, Json]:
    """The document.

    Args:
        made: the sessions.
        rows: where a row a request was written; None where none were.
    """
    totals = made.totals
    return {
        "schema": "cachediag.batch/1",
        "rows": rows,
        "counted_by": [
            {
                "profile": basis.profile,
                "model": basis.model,
                "engine": basis.engine,
                "sessions": basis.sessions,
            }
            for basis in made.bases
        ],
        "exact": totals.exact,
        "totals": {
            "sessions": totals.sessions,
            "failed": len(made.failed),
            "partly_read": made.notes,
            "requests": totals.requests,
            "uncounted": totals.uncounted,
            "body_bytes": totals.body_bytes,
            "prompt_tokens": totals.prompt_tokens,
            "reused_tokens": totals.reused_tokens,
            "avoidable_tokens": totals.avoidable_tokens,
            "hit_rate": totals.hit_rate,
            "hit_rate_ceiling": totals.hit_rate_ceiling,
            "avoidable_seconds": totals.avoidable_seconds,
            "timed_sessions": totals.timed_sessions,
            "usd": totals.usd,
            "avoidable_usd": totals.avoidable_usd,
            "priced_requests": totals.priced_requests,
            "prices_as_of": totals.prices_as_of,
        },
        "causes": [
            {
                "code": _code(cause.code),
                "path": cause.path,
                "sessions": cause.sessions,
                "requests": cause.requests,
                "tokens_lost": cause.tokens_lost,
                "usd": cause.usd,
            }
            for cause in made.causes
        ],
        "worst": [
            {
                "session": worst.label,
                "requests": worst.requests,
                "prompt_tokens": worst.prompt_tokens,
                "reused_tokens": worst.reused_tokens,
                "avoidable_tokens": worst.avoidable_tokens,
                "hit_rate": worst.hit_rate,
                "hit_rate_ceiling": worst.hit_rate_ceiling,
                "code": _code(worst.code),
                "path": worst.path,
            }
            for worst in made.worst
        ],
        "failed": [
            {"session": failed.label, "reason": failed.reason, "remedy": failed.remedy}
            for failed in made.failed
        ],
    }


def _code(code: str | None) -> str | None:
    return None if code == "-" else code
