"""prefixguard: a library that a program calls before each request.

Run as its page says: one guard, `observe` for each request of the conversation.
"""

import json
from pathlib import Path

from peers.case import Case
from peers.tool import Command, Heard, Tool

__all__ = ["TOOL"]

_CALL = """
import dataclasses, json, sys
from prefixguard import PrefixGuard

guard = PrefixGuard()
reports = [guard.observe(session="case", **turn) for turn in json.load(open(sys.argv[1]))]
print(json.dumps([dataclasses.asdict(report) for report in reports]))
"""
_FIELDS = {"responses": {"system": "instructions", "messages": "input"}}
"""Its parameters → the request's fields, where those have other names."""
_ANYWHERE = ("V02", "V03", "V04", "V05", "V06", "O03", "E01", "E02", "E04")


def _outside(case: Case) -> str | None:
    if case.kind != "pair":
        return "it looks at requests of one conversation, one by one"
    if case.profile.startswith("vllm-mlx"):
        return "it does not say what a server makes of a request"
    if set(case.causes) <= {"O02"} and case.causes:
        return "key order is normalised, by its documentation"
    if case.name == "e02-escapes-in-arguments":
        return "unicode escapes are normalised, by its documentation"
    return None


def _command(case: Case, folder: Path) -> Command:
    names = {"system": "system", "messages": "messages"} | _FIELDS.get(case.endpoint, {})
    turns = [
        {key: body.get(name) for key, name in (names | {"tools": "tools"}).items()}
        for body in case.bodies
    ]
    (folder / "turns.json").write_text(json.dumps(turns), encoding="utf-8")
    return Command(["python", "-I", "-c", _CALL, folder / "turns.json"])


def _read(case: Case, output: str) -> list[Heard]:
    first, *later = json.loads(output)
    suspected = [
        Heard(f["cause"], _path(case, f["block_id"]), suspicion=True) for f in first["findings"]
    ]
    found = [
        Heard(f["cause"], _path(case, f["block_id"]))
        for report in later
        if report["broken"]
        for f in report["findings"]
    ]
    return suspected + found


def _path(case: Case, block: str) -> str:
    for key, name in _FIELDS.get(case.endpoint, {}).items():
        if block.startswith(key):
            return name + block.removeprefix(key)
    return block


TOOL = Tool(
    name="prefixguard",
    version="0.2.1",
    requires=("prefixguard==0.2.1",),
    takes="`observe(messages, system, tools)` for each request",
    words={
        "SYSTEM_MUTATED": ("V01", *_ANYWHERE, "S03"),
        "TOOL_REORDER": ("O01",),
        "TOOL_SET_CHANGED": ("S01",),
        "TOOL_SCHEMA_DRIFT": ("S02", *_ANYWHERE),
        "HISTORY_REWRITE": ("V01", *_ANYWHERE, "S04", "S06", "S08", "S09"),
        "HISTORY_DROP": ("S05", "S09"),
        "COMPACTION": ("S05",),
        "VOLATILE_CONTENT": ("V02", "V03"),
        "NON_DETERMINISTIC_SERIALIZATION": (),
    },
    markers=False,
    outside=_outside,
    command=_command,
    read=_read,
)
