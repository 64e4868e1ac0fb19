"""The JSON documents that commands print with `--format json`; `docs/json.md` describes them."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cachediag.analysis import Request
from cachediag.analysis.calibration import Calibration, scaled_view
from cachediag.analysis.tokenview import Counter, TokenView, counted_findings, token_view
from cachediag.compare import Comparison
from cachediag.model import Block, ExchangeInfo, Finding, Json, Prompt

if TYPE_CHECKING:
    # A pair needs no cache models.
    from cachediag.analysis.analysed import Analysed
    from cachediag.analysis.summary import Analysis, Cost
    from cachediag.rules.rule import Rule

__all__ = [
    "ROW",
    "analysis",
    "analysis_row",
    "diff",
    "diffs",
    "dumps",
    "exchange",
    "finding",
    "named_rule",
    "pair",
    "session",
    "sessions",
]


def dumps(document: Json) -> str:
    """One JSON document as text.

    Only ASCII, so that captured text reaches a terminal escaped, and a lone surrogate does too.
    """
    return json.dumps(document, indent=2) + "\n"


def named_rule(rule: "Rule") -> dict[str, Json]:
    """What tells one rule of a file from another, in every document that lists rules."""
    return {
        "id": rule.id,
        "finding": rule.finding,
        "action": rule.action,
        "path": rule.path,
        "enabled": rule.enabled,
    }


def finding(found: Finding) -> dict[str, Json]:
    """One finding."""
    return {
        "code": found.code,
        "severity": found.severity,
        "confidence": found.confidence,
        "path": found.path,
        "byte": found.byte,
        "before": found.before.text if found.before else None,
        "after": found.after.text if found.after else None,
        "tokens_lost": found.tokens_lost,
        "message": found.message,
        "fix": found.fix,
    }


def diff(
    comparison: Comparison, view: TokenView | None = None, *, calibrated_usages: int = 0
) -> dict[str, Json]:
    """`cachediag.diff/1`: two requests held against each other; without a view no tokens."""
    return {
        "schema": "cachediag.diff/1",
        "profile": comparison.profile,
        "model": comparison.b.model,
        "bytes": {
            "a": len(comparison.sent[0].body),
            "b": len(comparison.sent[1].body),
            "first_difference": comparison.first_difference,
            "path": comparison.first_path,
        },
        "prompt_tokens": {
            "a": view and view.a,
            "b": view and view.b,
            "exact": view and view.exact,
        },
        "calibrated_usages": calibrated_usages,
        "shared_tokens": view and view.shared,
        "reusable_tokens": view and view.reusable,
        "shared_blocks": comparison.shared_blocks,
        "reusable_blocks": comparison.reusable_blocks,
        "blocks": {"a": comparison.a.block_count, "b": comparison.b.block_count},
        "other_fields": list(comparison.other_fields),
        "findings": [finding(found) for found in comparison.findings],
    }


def diffs(name: str, pairs: Iterable[dict[str, Json]]) -> dict[str, Json]:
    """`cachediag.diffs/1`: every request of a session against its parent, as from `pair`."""
    return {"schema": "cachediag.diffs/1", "session": name, "pairs": list(pairs)}


def pair(
    request: Request, counter: Counter | None = None, calibration: Calibration | None = None
) -> dict[str, Json]:
    """One request of a session and what `diff` says of it and its parent.

    Args:
        request: the request.
        counter: counts its tokens; without one none are given.
        calibration: what is known from the requests before; learns what this one reports.
    """
    placed = {
        "request": request.info.index,
        "lane": request.lane,
        "kind": request.kind,
        "parent": request.parent,
        "latest": request.latest,
        "problem": request.problem,
    }
    comparison = request.comparison
    view = token_view(comparison, counter) if comparison and counter else None
    usages = 0
    if view and calibration:
        calibration.add(request.lane, request.info, view.b)
        view = scaled_view(view, calibration.factor(request.lane, request.info.model))
        usages = calibration.usages
    compared = (
        diff(comparison, view, calibrated_usages=usages)
        if comparison
        else {"schema": "cachediag.diff/1"}
    )
    found = counted_findings(request.findings, view)
    return placed | compared | {"findings": [finding(each) for each in found]}


def session(name: str, infos: Iterable[ExchangeInfo], requests: Iterable[Request]) -> Json:
    """`cachediag.session/1`: what a session holds, a row an exchange."""
    placed = {request.info.index: request for request in requests}
    return {
        "schema": "cachediag.session/1",
        "session": name,
        "exchanges": [_exchange(info, placed.get(info.index)) for info in infos],
    }


def _exchange(info: ExchangeInfo, request: Request | None) -> dict[str, Json]:
    usage = info.usage
    return {
        "index": info.index,
        "endpoint": info.endpoint,
        "lane": request.lane if request else None,
        "kind": request.kind if request else None,
        "parent": request.parent if request else None,
        "method": info.method,
        "path": info.path,
        "status": info.status,
        "model": info.model,
        "response_model": info.response_model,
        "started": info.started,
        "first_byte": info.first_byte,
        "first_token": info.first_token,
        "ended": info.ended,
        "request_bytes": info.request_size,
        "outgoing_bytes": info.outgoing_size,
        "response_bytes": info.response_size,
        "usage": usage
        and {
            "input_tokens": usage.input_tokens,
            "cache_read": usage.cache_read,
            "cache_creation": usage.cache_creation,
            "output_tokens": usage.output_tokens,
        },
        "headers": dict(info.headers),
        "response_headers": dict(info.response_headers),
        "notes": list(info.notes),
        "error": info.error,
    }


def exchange(info: ExchangeInfo, prompt: Prompt | None) -> dict[str, Json]:
    """`cachediag.exchange/1`: one exchange and its prompt's blocks, their texts left out."""
    return (
        {"schema": "cachediag.exchange/1"}
        | _exchange(info, None)
        | {"blocks": [_block(block) for block in prompt.blocks] if prompt else None}
    )


def _block(block: Block) -> dict[str, Json]:
    return {
        "section": block.section,
        "role": block.role,
        "kind": block.kind,
        "path": block.path,
        "start": block.start,
        "end": block.end,
        "marker": block.marker and {"type": block.marker.kind, "ttl": block.marker.ttl},
    }


def sessions(rows: Iterable[dict[str, Json]]) -> dict[str, Json]:
    """`cachediag.sessions/1`: the recordings that were found, newest first."""
    return {"schema": "cachediag.sessions/1", "sessions": list(rows)}


ROW = (
    *("index", "lane", "kind", "parent", "started", "prompt_tokens", "shared_tokens"),
    *("reused_tokens", "new_tokens", "avoidable_tokens", "exact", "codes"),
)
"""The columns of a row a request, in `csv` and `jsonl`."""


def analysis_row(request: "Analysed") -> dict[str, Json]:
    """One request as a flat row, the same columns in every row."""
    codes = dict.fromkeys(code for code, _, _ in request.blamed if code != "-")
    return {
        "index": request.info.index,
        "lane": request.lane,
        "kind": request.kind,
        "parent": request.parent,
        "started": request.info.started,
        "prompt_tokens": request.prompt_tokens,
        "shared_tokens": request.shared_tokens,
        "reused_tokens": request.reused_tokens,
        "new_tokens": request.new_tokens,
        "avoidable_tokens": request.avoidable_tokens,
        "exact": request.exact,
        "codes": " ".join(codes),
    }


def analysis(made: "Analysis") -> dict[str, Json]:
    """`cachediag.analysis/1`: a session in tokens."""
    return {
        "schema": "cachediag.analysis/1",
        "profile": made.profile,
        "model": made.model,
        "engine": made.engine,
        "exact": made.exact,
        "calibrated_usages": made.calibrated_usages,
        "requests": [_analysed(each, made.costs.get(each.info.index)) for each in made.requests],
        "lanes": _lanes(made),
        "totals": {
            "requests": len(made.requests),
            "prompt_tokens": made.prompt_tokens,
            "reused_tokens": made.reused_tokens,
            "avoidable_tokens": made.avoidable_tokens,
            "hit_rate": made.hit_rate,
            "hit_rate_ceiling": made.hit_rate_ceiling,
            "prefill_rate": made.prefill_rate,
            "usd": made.usd,
            "avoidable_usd": made.avoidable_usd,
            "priced_requests": len(made.costs),
            "prices_as_of": made.prices_as_of,
        },
        "causes": [
            {
                "code": None if cause.code == "-" else cause.code,
                "path": cause.path,
                "requests": cause.requests,
                "tokens_lost": cause.tokens_lost,
                "usd": cause.usd,
            }
            for cause in made.causes
        ],
    }


def _analysed(request: "Analysed", cost: "Cost | None") -> dict[str, Json]:
    return {
        "index": request.info.index,
        "lane": request.lane,
        "kind": request.kind,
        "parent": request.parent,
        "prompt_tokens": request.prompt_tokens,
        "shared_tokens": request.shared_tokens,
        "reused_tokens": request.reused_tokens,
        "new_tokens": request.new_tokens,
        "avoidable_tokens": request.avoidable_tokens,
        "exact": request.exact,
        "usd": cost and cost.usd,
        "avoidable_usd": cost and cost.avoidable_usd,
        "findings": [finding(found) for found in request.findings],
        "problem": request.problem,
    }


def _lanes(made: "Analysis") -> list[dict[str, Json]]:
    lanes: dict[str, dict[str, Json]] = {}
    for request in made.requests:
        lane = lanes.setdefault(
            request.lane,
            {
                "lane": request.lane,
                "kind": request.kind,
                "requests": 0,
                "prompt_tokens": 0,
                "token_factor": made.token_factors.get(request.lane),
            },
        )
        lane["requests"] += 1
        lane["prompt_tokens"] += request.prompt_tokens
    return list(lanes.values())
