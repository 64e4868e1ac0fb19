"""How costs and probes are told, on a terminal of 100 columns and as documents."""

import io

from rich.console import Console

from cachediag.lint.checks.changing import Change
from cachediag.lint.grammar.child import Limits, Result
from cachediag.lint.grammar.costs import Costs, EngineCosts, Group, OneMore, SchemaCost
from cachediag.lint.live import Probed, Probes
from cachediag.model import Finding
from cachediag.report.grammar import CostsReport, LiveReport
from cachediag.report.grammar_documents import costs as costs_document
from cachediag.report.grammar_documents import probed as live_document
from tests.lint.grammar.sessions import collected, schema


def result(seconds: float, size: int | None = 152_000, cache: int | None = 3_400_000) -> Result:
    return Result("compiled", seconds=seconds, size=size, cache=cache)


def told(report) -> str:
    output = io.StringIO()
    Console(file=output, width=100, highlight=False, markup=False).print(report)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())


SESSION = collected(
    [schema("read"), schema("wr\x1bite"), schema("wide")], (0, 1, 2), (0, 1, 2), (0,), (0, 1, 2)
)
ENGINE = EngineCosts(
    engine="xgrammar",
    version="0.2.9",
    syntax="hermes",
    load_seconds=4.25,
    schemas=(
        SchemaCost(0, result(0.0312, 99_000)),
        SchemaCost(1, Result("compiled", 0.5, 152_000, 9, warnings=("no \x1bpattern",))),
        SchemaCost(2, Result("too slow", message="not compiled within 20 s")),
    ),
    groups=(
        Group((0, 1, 3), (0, 1), (2,), 2, result(0.6), result(0.61), result(0.0004)),
        Group((2,), (0,), (), 0, result(12.34), None, None),
    ),
    one_more=OneMore(tools=2, new=1, fresh=0.6, shared=0.05),
)
COSTS = Costs("qwen3", Limits(), (ENGINE,), ("llguidance",))
CHANGES = (
    Change(
        Finding(
            code="S01",
            severity="break",
            path="tools[\x1b1]",
            message="A tool went.",
            confidence="confirmed",
        ),
        [2],
        tokens=8_120,
    ),
)

TEXT = """\
s   3 schemas   tokenizer qwen3

xgrammar 0.2.9   calls as hermes   loaded in 4.2 s

requests  tools  new  new compiler    kept   again    size   cache
0-1, 3        2    2        0.60 s  0.61 s  0.4 ms  0.2 MB  3.4 MB
2             1    0        12.3 s       -       -  0.2 MB       -

With one new tool among 2: 0.60 s on a new compiler, 50.0 ms on one that knows
the others, 12.0 times less.
The whole session: 14.1 s with a new compiler for each request, 0.61 s with one
that is kept.

what changes     requests  tokens again  new compiler  kept
S01  tools[\\e1]         1         8,120        12.3 s     -

✗ too slow  wide (0: tools.wide): not compiled within 20 s
schema, the costliest first    alone     size  warnings
wr\\eite (0: tools.wr\\eite)    0.50 s   0.2 MB  no \\epattern
read (0: tools.read)         31.2 ms  99.0 kB

llguidance is not installed: pip install 'cachediag[grammar]'"""


def test_costs_on_a_terminal() -> None:
    assert told(CostsReport(COSTS, SESSION, "s", CHANGES)) == TEXT


def test_costs_as_a_document() -> None:
    document = costs_document(COSTS, SESSION, CHANGES, session="s")
    assert document["limits"] == {"seconds": 20.0, "bytes": 2 << 30}
    (engine,) = document["engines"]
    assert engine["schemas"][2] == {
        "request": 0,
        "path": "tools.wide.input_schema",
        "name": "wide",
        "kind": "tool",
        "outcome": "too slow",
        "s": None,
        "bytes": None,
        "warnings": [],
        "message": "not compiled within 20 s",
    }
    assert engine["groups"][1]["kept_compiler_s"] is None
    assert engine["one_more"] == {
        "tools": 2,
        "new": 1,
        "new_compiler_s": 0.6,
        "kept_compiler_s": 0.05,
    }
    assert engine["changes"] == [
        {
            "code": "S01",
            "path": "tools[\x1b1]",
            "requests": [2],
            "tokens_lost": 8_120,
            "new_compiler_s": 12.34,
            "kept_compiler_s": None,
        }
    ]
    assert engine["new_compilers_s"] == 3 * 0.6 + 12.34
    assert engine["kept_compiler_s"] == 0.61 + 2 * 0.0004
    assert document["missing"] == ["llguidance"]


def test_an_engine_that_remembers_nothing_has_no_more_to_say() -> None:
    one = EngineCosts("llguidance", "1.9.1", "hermes", 1.0, (), (), None)
    shown = told(CostsReport(Costs("qwen3", Limits(), (one,), ()), SESSION, "s"))
    assert shown.splitlines()[2:] == ["llguidance 1.9.1   calls as hermes   loaded in 1.0 s"]


PROBES = Probes(
    "chat",
    0.25,
    30.0,
    (
        Probed("answered", 0.5, 0.25, schema=0),
        Probed("refused", 0.01, message="no \x1bpattern", schema=1),
        Probed("slow", 30.0, 4.0, recovered=1.5, schema=0),
        Probed("stalled", 30.0, healthy=False, schema=2),
    ),
)
SCHEMAS = [*SESSION.schemas, schema("after")]

LIVE = """\
s   http://127.0.0.1:8000
a plain request takes 0.25 s; each probe may take 30.0 s

schema                               first token  whole    the server said
read (0: tools.read)       answered       0.25 s   0.50 s
wr\\eite (0: tools.wr\\eite)  refused             -  10.0 ms  no \\epattern
read (0: tools.read)       slow           4.00 s   30.0 s
wide (0: tools.wide)       stalled             -   30.0 s
read (0: tools.read): the next request was answered 1.50 s later.

wide (0: tools.wide): the server answers no request after it. It was not waited
for any longer. 1 schema not sent."""


def test_probes_on_a_terminal() -> None:
    probes = Probes("chat", 0.25, 30.0, PROBES.probed[1:])
    shown = told(LiveReport(PROBES, SCHEMAS, "s", "http://127.0.0.1:8000"))
    assert [line.split() for line in shown.splitlines()] == [
        line.split() for line in LIVE.replace(" 1 schema not sent.", "").splitlines()
    ]
    assert "1 schema not sent" in told(LiveReport(probes, SCHEMAS, "s", "x")).replace("\n", " ")


def test_probes_as_a_document() -> None:
    document = live_document(PROBES, SCHEMAS, session="s", backend="http://127.0.0.1:8000")
    assert (document["stopped"], document["not_sent"]) == (True, 0)
    assert document["probes"][3] == {
        "request": 0,
        "path": "tools.wide.input_schema",
        "name": "wide",
        "kind": "tool",
        "state": "stalled",
        "s": 30.0,
        "first_token_s": None,
        "message": None,
        "healthy": False,
        "recovered_s": None,
    }
