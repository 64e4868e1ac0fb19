from types import SimpleNamespace
from typing import Any

from cachediag.errors import UpstreamError
from cachediag.report.verify_documents import verified
from cachediag.verify.verdict import verdict
from tests.report.test_json_docs import documented, produced
from tests.verify.measurements import arm, experiment

HIT = {"predicted": 900, "reused": 900}


def ready(**more: Any) -> Any:
    """What an experiment was run with."""
    place = SimpleNamespace(name="vllm-mlx 0.3.0 (sandbox)", kind="vllm-mlx", version="0.3.0")
    place.base_url = None
    counter = SimpleNamespace(profile=SimpleNamespace(name="vllm-mlx@0.3.0"))
    stock, patched = (
        SimpleNamespace(counter=counter, model="qwen2.5", engine=SimpleNamespace(name=name))
        for name in ("none", "conversation-slots")
    )
    return SimpleNamespace(place=place, choices={False: stock, True: patched} | more)


def made(*runs: Any, **more: Any) -> dict[str, Any]:
    done = experiment(*runs, **more)
    return verified(verdict(done), done, ready(), session="harbour", rules="rules.toml")


def test_its_keys_are_those_that_are_documented() -> None:
    arms = ("as-recorded", "rules-only", "patch-only", "both")
    document = made(*(arm(name, (1.0, 2.0)) for name in arms))
    assert set(produced(document)) == documented("cachediag.verify/1")


def test_what_was_measured() -> None:
    document = made(arm("as-recorded", (9.0, 10.0, 11.0)), arm("rules-only", (0.5,) * 3, **HIT))
    assert document["arms"][1] == {
        "name": "rules-only",
        "cold_turn_median_s": 10.0,
        "warm_turn_median_s": 0.5,
        "warm_turn_low_s": 0.5,
        "warm_turn_high_s": 0.5,
        "warm_ttft_median_s": None,
        "warm_turns": 3,
        "prompt_tokens": 4000,
        "predicted_reused_tokens": 2700,
        "measured_reused_tokens": 2700,
        "repeats": 1,
    }
    assert document["effects"]["rules"] == {"factor": 20.0, "low": 18.0, "high": 22.0}
    assert document["effects"]["both"] is None
    assert document["predicted_reuse_came"]
    assert document["complete"]
    assert document["verdict"] == "The rules: 20 times faster warm turns."


def test_what_is_not_told_is_null_and_what_failed_is_not_complete() -> None:
    failure = UpstreamError("no answer")
    document = made(arm("both", (1.0,), reused=None), failure=failure)
    assert document["requests"][1]["measured_reused_tokens"] is None
    assert document["arms"][0]["measured_reused_tokens"] is None
    assert not document["complete"]
