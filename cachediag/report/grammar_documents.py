"""`cachediag.lint-costs/1` and `cachediag.lint-live/1`; `docs/json.md` describes them."""

from collections.abc import Sequence

from cachediag.lint.checks.changing import Change
from cachediag.lint.grammar.changed import Compiled, compiled
from cachediag.lint.grammar.child import Result
from cachediag.lint.grammar.costs import Costs, EngineCosts, Group, OneMore
from cachediag.lint.live import Probes
from cachediag.lint.schemas import Collected, Schema
from cachediag.model import Json

__all__ = ["costs", "probed"]


def costs(
    made: Costs, collected: Collected, changes: Sequence[Change], *, session: str
) -> dict[str, Json]:
    """The document of one session.

    Args:
        made: what was measured.
        collected: the session's schemas.
        changes: how its tools change.
        session: its name.
    """
    return {
        "schema": "cachediag.lint-costs/1",
        "session": session,
        "tokenizer": made.tokenizer,
        "limits": {"seconds": made.limits.seconds, "bytes": made.limits.memory},
        "engines": [_engine(each, collected, changes) for each in made.engines],
        "missing": list(made.missing),
    }


def probed(
    made: Probes, schemas: Sequence[Schema], *, session: str, backend: str
) -> dict[str, Json]:
    """The document of a backend that was probed.

    Args:
        made: what became of each schema.
        schemas: those that were given, in order.
        session: the session's name.
        backend: its address.
    """
    return {
        "schema": "cachediag.lint-live/1",
        "session": session,
        "backend": backend,
        "protocol": made.protocol,
        "plain_s": made.plain,
        "deadline_s": made.deadline,
        "probes": [
            _named(schemas[each.schema])
            | {
                "state": each.state,
                "s": each.seconds,
                "first_token_s": each.first_token,
                "message": each.message,
                "healthy": each.healthy,
                "recovered_s": each.recovered,
            }
            for each in made.probed
        ],
        "not_sent": len(schemas) - len(made.probed),
        "stopped": made.stopped,
    }


def _named(schema: Schema) -> dict[str, Json]:
    """Which schema is meant."""
    return {
        "request": schema.request,
        "path": schema.path,
        "name": schema.name,
        "kind": schema.kind,
    }


def _engine(
    engine: EngineCosts, collected: Collected, changes: Sequence[Change]
) -> dict[str, Json]:
    return {
        "engine": engine.engine,
        "version": engine.version,
        "syntax": engine.syntax,
        "load_s": engine.load_seconds,
        "schemas": [
            _named(collected.schemas[each.schema]) | _result(each.result) for each in engine.schemas
        ],
        "groups": [_group(each) for each in engine.groups],
        "one_more": _one_more(engine.one_more),
        "changes": [_change(each) for each in compiled(changes, engine)],
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


def _change(each: Compiled) -> dict[str, Json]:
    return {
        "code": each.change.found.code,
        "path": each.change.found.path,
        "requests": list(each.change.requests),
        "tokens_lost": each.change.tokens,
        "new_compiler_s": each.fresh,
        "kept_compiler_s": each.kept,
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
