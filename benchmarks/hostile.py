"""How the time that hostile input takes grows with its size: many of something against few."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure
from benchmarks.hostile_input import (
    PATTERNS,
    RULES,
    SCHEMAS,
    linted,
    members,
    pattern,
    said,
    trace_line,
)
from cachediag.capture.encoding import decode
from cachediag.compare import compare
from cachediag.lint.linted import lint
from cachediag.protocol import parse
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.pattern import compiled
from cachediag.rules.rule import Rule
from cachediag.simulate.workloads import mooncake

__all__ = ["measure"]

_GROUP = "hostile"
_ROUNDS = 3
_AIM = 2
"""1 where the time grows with the size; 5 or more where it grows with its square."""


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    of: str
    few: int
    many: int
    make: Callable[[int], Any]
    do: Callable[[Any], object]


def measure() -> Iterator[Figure]:
    """Time many against few, for each of them, where work could grow with the square.

    Processor time, the least of some rounds in which both take turns.
    """
    with tempfile.TemporaryDirectory() as folder:
        for case in _cases(Path(folder)):
            yield Figure(
                group=_GROUP,
                name=f"{case.name}: time of each, {case.many:,} / {case.few:,} {case.of}",
                value=_growth(case),
                unit="×",
                aim=_AIM,
            )


def _cases(folder: Path) -> Iterator[_Case]:
    for name, (rule, made) in RULES.items():
        body, done = partial(_body, made), partial(_apply, rule)
        # More than there are names of tools remembered, or the few would be read but once.
        yield _Case(f"rule, {name}", "places", 2_000, 10_000, body, done)
    for name, schema in SCHEMAS.items():
        yield _Case(f"schema, {name}", "parts", 150, 1_500, schema, _lint)
    for form in PATTERNS:
        # Not remembered: as if it were read for the first time.
        read = compiled.__wrapped__
        yield _Case(f"pattern, {form}", "characters", 800, 8_000, partial(pattern, form), read)
    yield _Case("compared", "blocks", 300, 3_000, _pair, lambda pair: compare(*pair))
    yield _Case("gzip", "members", 2_000, 40_000, members, lambda body: decode("gzip", body))

    def trace(count: int) -> Path:
        path = folder / f"{count}.jsonl"
        path.write_bytes(b"".join(map(trace_line, range(count))))
        return path

    yield _Case(
        "trace", "lines", 2_000, 20_000, trace, lambda path: list(mooncake.read(path).requests(0))
    )


def _body(made: Callable[[int], dict[str, object]], count: int) -> bytes:
    return json.dumps(made(count)).encode()


def _apply(rule: Rule, body: bytes) -> object:
    return apply_rules(body, "messages", (rule,))


def _lint(schema: object) -> object:
    return lint(linted(schema))


def _pair(count: int) -> tuple[object, object]:
    a, b = (parse(said(f"{word}{number}" for number in range(count))) for word in "ab")
    return a, b


def _growth(case: _Case) -> float:
    """How many times as long the many take as the few, each time for one of them."""
    given = {count: case.make(count) for count in (case.few, case.many)}
    taken: dict[int, list[float]] = {case.few: [], case.many: []}
    for _ in range(_ROUNDS):
        for count, seconds in taken.items():
            seconds.append(_seconds(case.do, given[count]))
    return min(taken[case.many]) / min(taken[case.few]) * case.few / case.many


def _seconds(done: Callable[[Any], object], given: object) -> float:
    before = time.process_time()
    done(given)
    return time.process_time() - before
