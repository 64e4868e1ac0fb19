"""`cachediag.lint-costs/1`: what grammars cost; `docs/json.md` describes it."""

from cachediag.lint.grammar.child import Result
from cachediag.lint.grammar.costs import Costs, EngineCosts, Group, OneMore
from cachediag.lint.schemas import Collected, Schema
from cachediag.model import Json

__all__ = ["costs", "named"]


def costs(made: Costs, collected: Collected, *, session: str) -> dict[str, Json]:
    """The document of one session.

    Args:
        made: what was measured.
        collected: the session's schemas.
        session: its name.
    """
    return {
        "schema": "cachediag.lint-costs/1",
        "session": session,
        "tokenizer": made.tokenizer,
        "limits": {"seconds": made.limits.seconds, "bytes": made.limits.memory},
        "engines": [_engine(each, collected) for each in made.engines],
        "missing": list(made.missing),
    }


def named(schema: Schema) -> dict[str, Json]:
    """Which schema is meant."""
    return {
        "request": schema.request,
        "path": schema.path,
        "name": schema.name,
        "kind": schema.kind,
    }


def _engine(engine: EngineCosts, collected: Collected) -> dict[str, Json]:
    return {
        "engine": engine.engine,
        "version": engine.version,
        "syntax": engine.syntax,
        "load_s": engine.load_seconds,
        "schemas": [
            named(collected.schemas[each.schema]) | _result(each.result) for each in engine.schemas
        ],
        "groups": [_group(each) for each in engine.groups],
        "one_more": _one_more(engine.one_more),
        "new_compilers_s": engine.anew_seconds,
        "kept_compiler_s": engine.kept_seconds,
    }


def _result(result: Result) -> dict[str, Json]:
    return {
        "outcome": result.outcome,
        "s": result.seconds,
        "bytes": result.size,
        "warnings": list(result.warnings),
        "message": result.message,
    }


def _group(group: Group) -> dict[str, Json]:
    return {
        "requests": list(group.requests),
        "tools": list(group.tools),
        "left_out": list(group.left_out),
        "new_tools": group.new,
        "outcome": group.fresh.outcome,
        "bytes": group.fresh.size,
        "new_compiler_s": group.fresh.seconds,
        "kept_compiler_s": group.reused.seconds if group.reused else None,
        "again_s": group.repeat.seconds if group.repeat else None,
        "cache_bytes": group.reused.cache if group.reused else None,
    }


def _one_more(found: OneMore | None) -> dict[str, Json] | None:
    if found is None:
        return None
    return {
        "tools": found.tools,
        "new": found.new,
        "new_compiler_s": found.fresh,
        "kept_compiler_s": found.shared,
    }
