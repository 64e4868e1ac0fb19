"""The JSON documents that commands print with `--format json`; `docs/json.md` describes them."""

import json
from collections.abc import Iterable

from cachediag.analysis import Request
from cachediag.compare import Comparison
from cachediag.model import Block, ExchangeInfo, Finding, Json, Prompt

__all__ = ["diff", "diffs", "dumps", "exchange", "finding", "session", "sessions"]


def dumps(document: Json) -> str:
    """One JSON document as text.

    Only ASCII, so that captured text reaches a terminal escaped, and a lone surrogate does too.
    """
    return json.dumps(document, indent=2) + "\n"


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


def diff(comparison: Comparison) -> dict[str, Json]:
    """`cachediag.diff/1`: two requests held against each other."""
    return {
        "schema": "cachediag.diff/1",
        "profile": comparison.profile,
        "model": comparison.b.model,
        "bytes": {
            "a": len(comparison.a.body),
            "b": len(comparison.b.body),
            "first_difference": comparison.first_difference,
            "path": comparison.first_path,
        },
        # Nothing here counts tokens yet: null, not a guess.
        "prompt_tokens": {"a": None, "b": None, "exact": None},
        "shared_tokens": None,
        "reusable_tokens": None,
        "shared_blocks": comparison.shared_blocks,
        "reusable_blocks": comparison.reusable_blocks,
        "blocks": {"a": comparison.a.block_count, "b": comparison.b.block_count},
        "other_fields": list(comparison.other_fields),
        "findings": [finding(found) for found in comparison.findings],
    }


def diffs(name: str, requests: Iterable[Request]) -> dict[str, Json]:
    """`cachediag.diffs/1`: every request of a session against its parent."""
    return {
        "schema": "cachediag.diffs/1",
        "session": name,
        "pairs": [_pair(request) for request in requests],
    }


def _pair(request: Request) -> dict[str, Json]:
    placed = {
        "request": request.info.index,
        "lane": request.lane,
        "kind": request.kind,
        "parent": request.parent,
        "latest": request.latest,
        "problem": request.problem,
    }
    compared = diff(request.comparison) if request.comparison else {"schema": "cachediag.diff/1"}
    return placed | compared | {"findings": [finding(found) for found in request.findings]}


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
