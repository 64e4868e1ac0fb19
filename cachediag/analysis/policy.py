"""What an engine's own rules cost: the findings P01 to P06 and M02 to M05."""

from cachediag import findings
from cachediag.analysis.engines import Served
from cachediag.model import Finding

__all__ = ["policy_findings"]

# Every prompt of a template opens with the same few tokens: losing them is no finding.
_LEAST = 64


def policy_findings(served: Served, shared: int, *, broken: bool = False) -> tuple[Finding, ...]:
    """Why an engine reused less than the prompt shares with earlier ones.

    Args:
        served: what the cache model did.
        shared: tokens that the prompt shares with an earlier prompt, or prompt and reply.
        broken: the text broke the prefix. What else the engine lost then is mostly lost by that:
            a key or a breakpoint behind the break was not found. Only a cache that cannot be
            trimmed to the break is a cause of its own.
    """
    reason = served.reason
    if reason is None or reason.code is None or shared - served.reused < _LEAST:
        return ()
    if broken and reason.code != "P05":
        return ()
    page = findings.load(reason.code)
    return (
        Finding(
            code=reason.code,
            severity=page.severity,
            # Predicted by a model of the engine, not seen in the pair.
            confidence="suspected",
            tokens_lost=shared - served.reused,
            message=f"{reason.note[:1].upper()}{reason.note[1:].rstrip('.')}.",
            fix=None,
        ),
    )
