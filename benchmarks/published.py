"""The two published benchmarks of SageMaker's router, played again with one assumption changed.

`python -m benchmarks.published` prints the figures of docs/simulate.md, in a quarter of an hour;
`python -m benchmarks.published sagemaker-chats` those of one of the two.
"""

import sys
from collections.abc import Mapping
from importlib.resources import files
from statistics import fmean
from typing import Any

import tomlkit

from cachediag.simulate.comparison import Outcome, compare
from cachediag.simulate.scenario import Scenario, parse_scenario

__all__ = ["SCENARIOS", "played", "table", "varied"]

_Change = Mapping[str, Mapping[str, Any]]
_SAGEMAKER = "sagemaker:PrefixLength={},ConcurrencyThreshold={}"
# Less than the files play, since here only large differences count.
_QUICK: _Change = {"": {"repeats": 3, "limit": 6_000}}
# By peak arithmetic, before the publication's own times to first token were taken.
_BEFOREHAND: _Change = {"server": {"prefill_rate": 25_000, "latency": 0.020}}


def _server(**keys: float) -> _Change:
    return {"server": keys}


def _workload(**keys: object) -> _Change:
    return {"workload": keys}


def _router(length: int, threshold: int) -> _Change:
    return {"": {"policies": ["random", _SAGEMAKER.format(length, threshold)]}}


_STAGES: dict[str, _Change] = {
    "written down beforehand": _BEFOREHAND,
    "by the published times: 35 clients": {},
    "14 clients": _workload(clients=14),
    "7 clients": _workload(clients=7),
    "70 clients": _workload(clients=70),
    "70 clients, ConcurrencyThreshold 20": {**_router(1_024, 20), **_workload(clients=70)},
}
_BOTH: dict[str, _Change] = {
    "as it comes along": {},
    "no latency": _server(latency=0.0),
    "latency 20 ms": _server(latency=0.02),
    "latency 100 ms": _server(latency=0.1),
    "prefill 15,000 tokens/s": _server(prefill_rate=15_000),
    "prefill 25,000 tokens/s": _server(prefill_rate=25_000),
    "prefill 50,000 tokens/s": _server(prefill_rate=50_000),
    "decode 50 tokens/s": _server(decode_rate=50),
    "cache of 650,000 tokens": _server(capacity=650_000),
    "ConcurrencyThreshold 5": _router(1_024, 5),
    "ConcurrencyThreshold 64": _router(1_024, 64),
}
SCENARIOS: dict[str, dict[str, _Change]] = {
    "sagemaker-shared-prefix": {
        **_BOTH,
        "PrefixLength 32,768": _router(32_768, 10),
        "replies of 64 tokens": _workload(output_tokens=64),
        "replies of 512 tokens": _workload(output_tokens=512),
        "suffix of 1,024 tokens": _workload(suffix_tokens=1_024),
        "3 requests a prefix": _workload(uses=3),
        "12 requests a prefix": _workload(uses=12),
        "30 prefixes at a time": _workload(prefixes=30),
        "300 prefixes at a time": _workload(prefixes=300),
        # Long enough for their first uses to be few.
        "600 prefixes that stay": {"": {"limit": 20_000}, **_workload(prefixes=600, uses=20_000)},
        "arrivals at 7 a second": _workload(clients=None, ramp=0, rate=7),
        "replies of 512 tokens, 70 clients, ConcurrencyThreshold 20": {
            **_router(1_024, 20),
            **_workload(output_tokens=512, clients=70),
        },
    },
    "sagemaker-chats": {
        **_BOTH,
        "PrefixLength 4,096": _router(4_096, 10),
        "replies of 200 tokens": _workload(reply_tokens={"mean": 200, "deviation": 200}),
        "5 turns": _workload(turns=5),
        "18 turns": _workload(turns=18),
        "user's turn of 215 tokens": _workload(user_tokens={"mean": 215, "deviation": 215}),
        "10 s between turns": _workload(pause=10, clients=350),
        "system prompt of 500 tokens": _workload(system_tokens=500),
    },
}


def varied(name: str, *changes: _Change) -> Scenario:
    """A scenario that comes along, with other values.

    Args:
        name: the scenario's.
        changes: by the name of a table, "" for the file itself, keys and their new values; None
            takes a key away.
    """
    text = (files("cachediag.simulate") / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")
    document = tomlkit.parse(text).unwrap()
    for change in changes:
        for place, keys in change.items():
            table = document[place] if place else document
            table.update(keys)
            for key in [key for key, value in keys.items() if value is None]:
                del table[key]
    return parse_scenario(tomlkit.dumps(document), f"{name}.toml")


def played(scenario: Scenario) -> tuple[Outcome, Outcome]:
    """What random and prefix-aware routing come to in it."""
    first, second = compare(scenario.fleet, scenario.policies).outcomes
    return first, second


def table(name: str, rows: Mapping[str, _Change], *common: _Change) -> str:
    """A table in Markdown of a scenario that comes along.

    Args:
        name: the scenario's.
        rows: what is changed for each line, by what the line is called.
        common: what is changed for all of them.
    """
    lines = [
        "| Changed | hit rate | p50 (ms) | p50 | p90 (ms) | p90 | throughput | share |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for said, change in rows.items():
        random, aware = played(varied(name, *common, change))
        a, b = random.figures, aware.figures
        cells = [
            said,
            f"{a.hit_rate.value:.0%} → {b.hit_rate.value:.0%}",
            _times(a.ttft.p50.value, b.ttft.p50.value),
            _percent(a.ttft.p50.value, b.ttft.p50.value),
            _times(a.ttft.p90.value, b.ttft.p90.value),
            _percent(a.ttft.p90.value, b.ttft.p90.value),
            _percent(a.requests_per_second.value, b.requests_per_second.value),
            _shares(aware),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _times(before: float, after: float) -> str:
    return f"{1000 * before:.0f} → {1000 * after:.0f}"


def _percent(before: float, after: float) -> str:
    return f"{100 * (after / before - 1):+.1f} %".replace("-", "−")


def _shares(outcome: Outcome) -> str:
    """The least and the greatest share of the requests that a replica was sent."""
    taken = outcome.sample.taken
    mean = fmean(taken) * len(taken)
    return f"{100 * min(taken) / mean:.1f}–{100 * max(taken) / mean:.1f} %"


if __name__ == "__main__":
    for each in sys.argv[1:] or SCENARIOS:
        print(f"{each}\n\n{table(each, _STAGES)}\n", flush=True)
        print(f"{table(each, SCENARIOS[each], _QUICK)}\n", flush=True)
