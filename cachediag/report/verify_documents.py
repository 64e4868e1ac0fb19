"""The JSON document of `cachediag verify`; `docs/json.md` describes it."""

from cachediag.model import Json
from cachediag.verify.experiment import Experiment
from cachediag.verify.measured import Measured
from cachediag.verify.setup import Setup
from cachediag.verify.statistics import Estimate
from cachediag.verify.verdict import ArmOutcome, Verdict

__all__ = ["verified"]


def verified(
    made: Verdict,
    experiment: Experiment,
    ready: Setup,
    *,
    session: str,
    rules: str | None,
) -> dict[str, Json]:
    """`cachediag.verify/1`: a session replayed in the arms of an experiment.

    Args:
        made: what it showed.
        experiment: what was measured.
        ready: what it was run with.
        session: the session's name.
        rules: how the rule file was named; None where there was none.
    """
    choice, patched = ready.choices[False], ready.choices.get(True)
    return {
        "schema": "cachediag.verify/1",
        "session": session,
        "backend": {
            "name": ready.place.name,
            "kind": ready.place.kind,
            "version": ready.place.version,
            "url": ready.place.base_url,
        },
        "rule_file": rules,
        "profile": choice.counter.profile.name,
        "model": choice.model,
        "engine": choice.engine.name,
        "patched_engine": patched.engine.name if patched else None,
        "exact": all(each.exact for each in experiment.measured),
        "arms": [_arm(each) for each in made.arms],
        "effects": {
            "rules": _effect(made.effects.rules),
            "patch": _effect(made.effects.patch),
            "both": _effect(made.effects.both),
            "interaction": _effect(made.effects.interaction),
        },
        "requests": [_request(each) for each in experiment.measured],
        "repeats": experiment.repeats,
        "caches_emptied": experiment.emptied,
        "warm_up_s": sum(experiment.warm_ups),
        "complete": not experiment.interrupted and experiment.failure is None,
        "predicted_reuse_came": made.kept,
        "verdict": " ".join(made.sentences),
    }


def _arm(outcome: ArmOutcome) -> dict[str, Json]:
    warm = outcome.warm
    return {
        "name": outcome.arm.name,
        "cold_turn_median_s": _value(outcome.cold),
        "warm_turn_median_s": _value(warm),
        "warm_turn_low_s": warm.low if warm else None,
        "warm_turn_high_s": warm.high if warm else None,
        "warm_ttft_median_s": _value(outcome.first_token),
        "warm_turns": len(outcome.warm_turns),
        "prompt_tokens": outcome.prompt_tokens,
        "predicted_reused_tokens": outcome.predicted,
        "measured_reused_tokens": outcome.reused,
        "repeats": outcome.repeats,
    }


def _value(estimate: Estimate | None) -> float | None:
    return estimate.value if estimate else None


def _effect(estimate: Estimate | None) -> dict[str, Json] | None:
    if estimate is None:
        return None
    return {"factor": estimate.value, "low": estimate.low, "high": estimate.high}


def _request(measured: Measured) -> dict[str, Json]:
    return {
        "arm": measured.arm,
        "repeat": measured.repeat,
        "index": measured.index,
        "lane": measured.lane,
        "warm": measured.warm,
        "total_s": measured.total,
        "ttft_s": measured.first_token,
        "prompt_tokens": measured.prompt_tokens,
        "predicted_reused_tokens": measured.predicted,
        "measured_reused_tokens": measured.reused,
        "measured_prompt_tokens": measured.reported_prompt,
        "measured_from": measured.source,
        "exact": measured.exact,
    }
