"""Figures, runs and workloads that a test makes up."""

from collections.abc import Mapping
from typing import Any

from cachediag.simulate.comparison import Fleet, Outcome
from cachediag.simulate.figures import Figures, Percentiles
from cachediag.simulate.lengths import Length, Looked
from cachediag.simulate.model import Run, Scale, Server, Unit, Workload
from cachediag.simulate.sweep import Cell, Sweep
from cachediag.verify.statistics import Estimate
from tests.simulate.prompts import request

__all__ = ["SERVER", "figures", "length", "swept", "workload"]

SERVER = Server(prefill_rate=100, decode_rate=10, batch_rate=100)


def _exactly(value: float) -> Estimate:
    return Estimate(value, value, value)


def figures(**given: Any) -> Figures:
    """Figures; `p50`, `p90` and `p99` are those of the time to first token."""
    times = [
        given.pop(name, _exactly(value)) for name, value in (("p50", 1), ("p90", 2), ("p99", 3))
    ]
    made: dict[str, Any] = {
        "hit_rate": _exactly(0.5),
        "block_hit_rate": _exactly(0.5),
        "ttft": Percentiles(*times),
        "total": Percentiles(_exactly(4), _exactly(5), _exactly(6)),
        "requests_per_second": _exactly(7),
        "tokens_per_second": _exactly(8),
        "imbalance": _exactly(1),
    }
    return Figures(**made | given)


def workload(arrivals: tuple[float, ...] = (0,), prompt: str = "12") -> Workload:
    """The same prompt at these times; its blocks are of 4 tokens."""
    return Workload(
        "harbour", Scale(4), lambda _: (request(prompt, arrival=float(at)) for at in arrivals)
    )


def length(size: int, **given: Any) -> Length:
    """What heads of a length are: all of plain text, none of it system prompt or tools."""
    made: dict[str, Any] = {
        "length": size,
        "bytes": size,
        "characters": size,
        "tokens": size // 4,
        "leading_tokens": 0,
        "ends_in": "messages[*].content",
        "heads": 2,
        "without_leading": 0,
        "wide": 0,
    }
    return Length(**made | given)


def swept(
    p90s: Mapping[tuple[int, int], tuple[float, ...]],
    *,
    random: tuple[float, ...] = (9.0, 9.5),
    unit: Unit = "bytes",
    looked: dict[str, Any] | None = None,
    **given: Any,
) -> Sweep:
    """A sweep in which pairs had these times in each of their runs.

    Args:
        p90s: for each PrefixLength and ConcurrencyThreshold.
        random: the same of random routing.
        unit: what is counted.
        looked: what is other than usual of what was looked at.
        given: what is other than usual of the lengths.
    """
    sizes = dict.fromkeys(size for size, _ in p90s)
    seen: dict[str, Any] = {
        "unit": unit,
        "requests": 4,
        "leading_tokens": 900,
        "lengths": tuple(length(size, **given) for size in sizes),
        "traps": (),
    }
    repeats = len(random)
    return Sweep(
        Fleet(workload=workload(), server=SERVER, replicas=2, repeats=repeats),
        Looked(**seen | (looked or {})),
        tuple(Cell(*pair, _played(f"sagemaker {pair}", of)) for pair, of in p90s.items()),
        _played("random", random),
        Run("round-robin", 0, requests=4, input_tokens=100, reused_tokens=75),
    )


def _played(policy: str, p90s: tuple[float, ...]) -> Outcome:
    mean = sum(p90s) / len(p90s)
    return Outcome(policy, figures(p90=_exactly(mean)), Run(policy, 0), p90s)
