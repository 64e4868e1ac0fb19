"""Made-up measurements."""

from collections.abc import Sequence
from typing import Any

from cachediag.verify.arms import ARMS
from cachediag.verify.experiment import Experiment
from cachediag.verify.measured import Measured

__all__ = ["arm", "experiment", "measured"]


def measured(name: str, **more: Any) -> Measured:
    """One request; by default a warm turn of 10 s that nothing was reused of."""
    usual: dict[str, Any] = {
        "repeat": 0,
        "index": 1,
        "lane": "main",
        "warm": True,
        "first_token": None,
        "total": 10.0,
        "prompt_tokens": 1000,
        "predicted": 0,
        "reused": 0,
    }
    return Measured(arm=name, **(usual | more))


def arm(name: str, seconds: Sequence[float], *, cold: float = 10.0, **more: Any) -> list[Measured]:
    """A run: one cold turn, and warm turns that take so long."""
    begun = measured(name, index=0, warm=False, total=cold)
    return [begun, *(measured(name, index=n, total=s, **more) for n, s in enumerate(seconds, 1))]


def experiment(*runs: list[Measured], **more: Any) -> Experiment:
    """What was measured in some runs."""
    done = tuple(each for run in runs for each in run)
    names = {each.arm for each in done}
    usual: dict[str, Any] = {
        "arms": tuple(each for each in ARMS if each.name in names),
        "measured": done,
        "warm_ups": (2.0,),
        "emptied": "cleared",
        "repeats": 1,
    }
    return Experiment(**(usual | more))
