"""`cachediag.lint/1`: a session's schemas, judged; `docs/json.md` describes it."""

from cachediag.lint import support
from cachediag.lint.linted import Found, Linted
from cachediag.lint.verdicts import Verdict
from cachediag.model import Json
from cachediag.report.documents import finding

__all__ = ["linted"]


def linted(made: Linted, *, session: str) -> dict[str, Json]:
    """The document of one session.

    Args:
        made: what was said of its schemas.
        session: its name.
    """
    collected = made.collected
    carried = collected.carried()
    return {
        "schema": "cachediag.lint/1",
        "session": session,
        "decoders": [_decoder(name) for name in made.decoders],
        "totals": {
            "requests": len(collected.requests),
            "schemas": len(collected.schemas),
            "findings": len(made.found),
            "costly": len(made.costly),
        },
        "schemas": [
            {
                "number": number,
                "name": each.name,
                "kind": each.kind,
                "strict": each.strict,
                "path": each.path,
                "request": each.request,
                "requests": carried[number],
                "bytes": len(each.raw),
                "model": each.model,
                "verdicts": [_verdict(one) for one in made.verdicts[number]],
            }
            for number, each in enumerate(collected.schemas)
        ],
        "findings": [_found(each) for each in made.found],
        "problems": [
            {"request": request, "problem": problem}
            for request, problem in collected.problems.items()
        ],
    }


def _decoder(name: str) -> dict[str, Json]:
    known = support.table(name)
    return {
        "name": name,
        "version": known.version,
        "as_of": known.date,
        "sources": list(known.sources),
    }


def _verdict(made: Verdict) -> dict[str, Json]:
    return {
        "decoder": made.decoder,
        "outcome": made.outcome,
        "reason": made.reason,
        "path": made.path,
        "ignored": [
            {"keyword": each.keyword, "path": each.path, "why": each.why} for each in made.ignored
        ],
    }


def _found(each: Found) -> dict[str, Json]:
    return finding(each.finding) | {"request": each.request, "schema": each.schema}
