"""The JSON documents of `cachediag rules`; `docs/json.md` describes them."""

from collections.abc import Iterable

from cachediag.model import Json
from cachediag.report import documents
from cachediag.rules.check import Checked, RuleOutcome
from cachediag.rules.checking.objection import Objection
from cachediag.rules.checking.told import shortened
from cachediag.rules.explain import Explained, ExplainedRule

__all__ = ["checked", "explained"]

_MOST_TOLD = 8


def checked(made: Checked, session: str, file: str) -> dict[str, Json]:
    """`cachediag.rules-check/1`: a rule file tried on a session.

    Args:
        made: what came of it.
        session: the session's name.
        file: how the rule file was named.
    """
    first = made.caches[0]
    behind = made.caches[1] if len(made.caches) > 1 else None
    return {
        "schema": "cachediag.rules-check/1",
        "session": session,
        "rule_file": file,
        "profile": made.profile,
        "model": made.model,
        "engine": first.engine,
        "exact": made.exact,
        "safe": made.safe,
        "rules": [_outcome(each) for each in made.rules],
        "totals": {
            "requests": made.requests,
            "changed_requests": made.touched,
            "unread_requests": made.unread,
            "changed_bytes": sum(each.size for each in made.rules),
            "prompt_tokens": _pair(first.prompt_tokens),
            "shared_tokens": _pair(made.shared_tokens),
            "reused_tokens": _pair(first.reused_tokens),
            "hit_rate": _pair(first.hit_rates),
        },
        "with_cache": behind
        and {
            "engine": behind.engine,
            "reused_tokens": _pair(behind.reused_tokens),
            "hit_rate": _pair(behind.hit_rates),
        },
        "lanes": [
            {"lane": lane.lane, "later_requests": lane.requests, "whole": _pair(lane.whole)}
            for lane in made.lanes
        ],
        "refusals": _objections(made.refusals),
        "warnings": _objections(made.warnings),
    }


def _pair(values: tuple[Json, Json]) -> dict[str, Json]:
    return {"before": values[0], "after": values[1]}


def _outcome(outcome: RuleOutcome) -> dict[str, Json]:
    return documents.named_rule(outcome.rule) | {
        "requests": outcome.requests,
        "places": outcome.places,
        "bytes": outcome.size,
        "tokens_saved": outcome.tokens_saved,
        "tokens_added": outcome.tokens_added,
        "reuse_gained": outcome.reuse_gained,
        "told": [
            {"before": shortened(t.before), "after": shortened(t.after), "places": t.times}
            for t in outcome.told[:_MOST_TOLD]
        ],
    }


def _objections(found: Iterable[Objection]) -> list[dict[str, Json]]:
    return [
        {
            "reason": each.reason,
            "rules": list(each.rules),
            "message": each.message,
            "remedy": each.remedy,
            "request": each.request,
            "path": each.path,
        }
        for each in found
    ]


def explained(made: Explained, session: str, file: str) -> dict[str, Json]:
    """`cachediag.rules-explain/1`: what each rule does to one request.

    Args:
        made: what it does.
        session: the session's name.
        file: how the rule file was named.
    """
    return {
        "schema": "cachediag.rules-explain/1",
        "session": session,
        "rule_file": file,
        "request": made.info.index if made.info else None,
        "rules": [_explained(each) for each in made.rules],
    }


def _explained(each: ExplainedRule) -> dict[str, Json]:
    return documents.named_rule(each.rule) | {
        "changes": [
            {
                "path": shown.change.path,
                "before": shown.change.before,
                "after": shown.change.after,
                "bytes": shown.change.size,
            }
            for shown in each.shown
        ]
    }
