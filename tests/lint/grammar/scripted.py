"""A grammar engine that does what a schema tells it to, for the tests of what runs it.

`{"x-do": "sleep"}`, `eat`, `crash`, `reject`, `warn`, `print`; anything else compiles. A compiler
takes a hundredth of a second for each tag that it does not know, by a clock of its own, which is
set in the process that compiles.
"""

import json
import os
import sys
import time

from cachediag.lint.grammar.engine import Compiled, Rejected

__all__ = ["load"]

SECONDS = 0.01
_clock = [0.0]


class Compiler:
    def __init__(self) -> None:
        self._known: set[str] = set()

    def compile(self, prepared: str) -> Compiled:
        tags = _tags(json.loads(prepared)["format"])
        warnings = []
        for text, schema in tags:
            asked = schema.get("x-do") if isinstance(schema, dict) else None
            _do(asked)
            if asked == "warn":
                warnings.append("half of it is ignored")
            if text not in self._known:
                self._known.add(text)
                _clock[0] += SECONDS
        return Compiled(len(prepared), lambda text: text in prepared, tuple(warnings))

    def cache_size(self) -> int | None:
        return sum(map(len, self._known))


class Scripted:
    def prepare(self, tag: object) -> str:
        return json.dumps(tag)

    def compiler(self) -> Compiler:
        return Compiler()


def load(tokenizer: object) -> Scripted:
    if os.environ.get("SCRIPTED_FAILS"):
        raise ImportError("libmissing.so: cannot open shared object file\nmore of it")
    time.perf_counter = lambda: _clock[0]
    return Scripted()


def _tags(form):
    if form["type"] == "json_schema":
        return [(json.dumps(form), form["json_schema"])]
    calls = form["elements"][-1]
    return [(json.dumps(each), each["content"]["json_schema"]) for each in calls["tags"]]


def _do(asked: str | None) -> None:
    if asked == "sleep":
        time.sleep(60)
    if asked == "eat":
        held = [b"x" * (64 << 20) for _ in range(8)]
        time.sleep(60)
        del held
    if asked == "crash":
        os.abort()
    if asked == "reject":
        raise Rejected("not a schema that I know")
    if asked == "print":
        os.write(1, b"[12:00:00] /src/a.cc:7: Warning: said by the engine\n")
        sys.stderr.write("said by the engine\n")
        sys.stderr.flush()
