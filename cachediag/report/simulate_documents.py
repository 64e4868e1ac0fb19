"""The JSON document of `cachediag simulate`; `docs/json.md` describes it."""

from collections.abc import Sequence
from pathlib import Path

from cachediag.model import Json
from cachediag.report.sweep import pitfalls
from cachediag.simulate.comparison import Compared, Fleet, Outcome
from cachediag.simulate.figures import Figures
from cachediag.simulate.lengths import Length, Trap
from cachediag.simulate.model import Run
from cachediag.simulate.sweep import Cell, Sweep
from cachediag.verify.statistics import Estimate

__all__ = ["simulated"]


def simulated(
    made: Compared | Sweep,
    *,
    told: Sequence[str],
    plot: Path | None = None,
    export: Path | None = None,
) -> dict[str, Json]:
    """`cachediag.simulate/1`: policies compared, or all pairs of SageMaker's two numbers.

    Args:
        made: what they came to.
        told: what was measured or taken for granted of the servers.
        plot: the file of the plot.
        export: the file of the trace.
    """
    outcomes = (made.random,) if isinstance(made, Sweep) else made.outcomes
    return {
        **_played(made.fleet, made.ceiling, told),
        "policies": [_outcome(each) for each in outcomes],
        "best": None if isinstance(made, Sweep) else _best(made),
        "sweep": _swept(made) if isinstance(made, Sweep) else None,
        "plot": _named(plot),
        "export": _named(export),
    }


def _best(made: Compared) -> dict[str, Json]:
    return {"policy": made.best.policy, "equals": [each.policy for each in made.equals]}


def _swept(made: Sweep) -> dict[str, Json]:
    looked = made.looked
    return {
        "unit": made.unit,
        "requests": looked.requests,
        "leading_tokens": looked.leading_tokens,
        "recommended": _pair(made.recommended),
        "equals": [_pair(each) for each in made.equals],
        "cells": [
            _pair(each) | _figures(each.outcome.figures) | {"policy": each.outcome.policy}
            for each in made.cells
        ],
        "lengths": [_length(each) for each in looked.lengths],
        "traps": [_trap(each, made.recommended.prefix_length) for each in looked.traps],
        "warnings": [sentence for applies, sentence in pitfalls(made) if applies],
    }


def _played(fleet: Fleet, ceiling: Run, told: Sequence[str]) -> dict[str, Json]:
    server = fleet.server
    return {
        "schema": "cachediag.simulate/1",
        "workload": {
            "name": fleet.workload.name,
            "requests": ceiling.requests,
            "input_tokens": ceiling.input_tokens,
            "output_tokens": ceiling.output_tokens,
            "blocks": ceiling.blocks,
            "block_tokens": fleet.workload.scale.block,
            "exact": fleet.workload.exact,
        },
        "replicas": fleet.replicas,
        "changes": [{"at_s": each.at, "replicas": each.replicas} for each in fleet.changes],
        "server": {
            "prefill_rate": server.prefill_rate,
            "decode_rate": server.decode_rate,
            "batch_rate": server.batch_rate,
            "latency_s": server.latency,
            "concurrency": server.concurrency,
            "capacity": server.capacity,
            "engine": server.engine,
        },
        "repeats": fleet.repeats,
        "seed": fleet.seed,
        "assumed": [*told, *fleet.workload.assumed],
        "ceiling": {
            "reused_tokens": ceiling.reused_tokens,
            "blocks_reused": ceiling.blocks_reused,
            "hit_rate": ceiling.hit_rate,
            "block_hit_rate": ceiling.block_hit_rate,
        },
    }


def _outcome(outcome: Outcome) -> dict[str, Json]:
    return {"policy": outcome.policy, **_figures(outcome.figures)}


def _figures(of: Figures) -> dict[str, Json]:
    return {
        "hit_rate": _estimate(of.hit_rate),
        "block_hit_rate": _estimate(of.block_hit_rate),
        "ttft_p50_s": _estimate(of.ttft.p50),
        "ttft_p90_s": _estimate(of.ttft.p90),
        "ttft_p99_s": _estimate(of.ttft.p99),
        "total_p50_s": _estimate(of.total.p50),
        "total_p90_s": _estimate(of.total.p90),
        "total_p99_s": _estimate(of.total.p99),
        "requests_per_second": _estimate(of.requests_per_second),
        "tokens_per_second": _estimate(of.tokens_per_second),
        "imbalance": _estimate(of.imbalance),
    }


def _estimate(of: Estimate) -> dict[str, Json]:
    return {"mean": of.value, "low": of.low, "high": of.high}


def _pair(cell: Cell) -> dict[str, Json]:
    return {"prefix_length": cell.prefix_length, "concurrency_threshold": cell.threshold}


def _length(of: Length) -> dict[str, Json]:
    return {
        "length": of.length,
        "bytes": of.bytes,
        "characters": of.characters,
        "tokens": of.tokens,
        "leading_tokens": of.leading_tokens,
        "ends_in": of.ends_in,
        "heads": of.heads,
        "without_leading": of.without_leading,
        "multi_byte": of.wide,
    }


def _trap(trap: Trap, length: int) -> dict[str, Json]:
    return {
        "kind": trap.kind,
        "code": trap.code,
        "path": trap.path,
        "offset": trap.offsets[0],
        "requests": len(trap.offsets),
        "requests_within": trap.requests(length),
    }


def _named(path: Path | None) -> str | None:
    return None if path is None else str(path)
