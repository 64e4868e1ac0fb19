"""promptcachelint: `report` of a trace that was recorded without an SDK, as its page shows."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cachediag.heads import common_head
from peers.case import Case
from peers.tool import Command, Heard, Tool

__all__ = ["TOOL"]

_RECORD = """
import json, sys
import promptcachelint

trace, calls = sys.argv[1:]
recorder = promptcachelint.Recorder(promptcachelint.JsonlSink(trace))
for call in json.load(open(calls)):
    recorder.record(call.pop("provider"), call.pop("body"), **call)
from promptcachelint.cli import main
sys.exit(main(["report", trace, "--json"]))
"""
_STEP = 128
"""Tokens of OpenAI's cache; a break that loses less is none, by its documentation."""
_CHARACTERS = 4
"""A token, by its estimate."""
_OF_MARKERS = frozenset({"CL004", "CL010", "CL011", "CL013"})
"""Of where markers stand and of the size, of which the answer of a pair says nothing."""
_NOT_CLAIMED = {
    "m03-frozen-on-the-first-message": "of markers it claims to see none, more than four, and "
    "those that went back",
    "m05-hour-after-five-minutes": "of lifetimes it claims to see those that ran out",
    "n03-near-compacted": "of rewritten histories it claims to know two kinds, where it is not "
    "told which requests are of one session",
}
_CHANGED = ("V02", "V03", "V04", "V05", "V06", "O03", "E01", "E02", "E04")


def _outside(case: Case) -> str | None:
    if case.kind == "lint":
        return "it does not judge schemas"
    if case.answer.get("engine", "anthropic") != "anthropic" or "vllm" in case.profile:
        return "it knows the hosted caches of Anthropic and OpenAI, by its documentation"
    if set(case.causes) == {"O02"}:
        return "key order is not compared, by its documentation"
    if case.name in _NOT_CLAIMED:
        return _NOT_CLAIMED[case.name]
    if case.kind != "pair" or not case.answer["breaks"]:
        return None
    if "S10" in case.answer["breaks"]:
        return None
    if case.endpoint != "messages":
        lost = _lost(*case.bodies)
        return f"less than {_STEP} tokens are lost" if lost < _STEP else None
    if _marked(case.bodies[0]) <= case.answer["shared_blocks"]:
        return "the change stands behind the last marker; it claims to look before it"
    return None


def _command(case: Case, folder: Path) -> Command:
    calls = list(_calls(case))
    (folder / "calls.json").write_text(json.dumps(calls), encoding="utf-8")
    return Command(["python", "-I", "-c", _RECORD, folder / "trace.jsonl", folder / "calls.json"])


def _calls(case: Case) -> Iterator[dict[str, Any]]:
    provider = "anthropic" if case.endpoint == "messages" else "openai"
    lanes = case.answer.get("lanes", ["case"] * 2 if case.kind == "pair" else [])
    times = case.answer.get("times", [])
    for number, body in enumerate(case.bodies):
        call: dict[str, Any] = {"provider": provider, "body": body, "at": 1000.0 + number}
        if times:
            call["at"] = 1000.0 + times[number][0]
        if lanes:
            call["session_id"] = lanes[number]
        yield call


def _read(case: Case, output: str) -> list[Heard]:
    report = json.loads(output)
    if report["skipped_lines"]:
        raise ValueError(f"lines were skipped: {report['skipped_lines']}")
    found = [
        finding
        for session in report["sessions"]
        for request in session["requests"]
        for finding in request["findings"]
    ]
    return [
        Heard(f["code"], f["path"] or f["data"].get("key"), suspicion=f["code"] == "CL012")
        for f in found
        if case.played or f["code"] not in _OF_MARKERS
    ]


def _lost(a: dict[str, Any], b: dict[str, Any]) -> int:
    """Tokens of the earlier request behind the first change, by the tool's order and estimate."""
    before, after = (list(map(_text, _blocks(body))) for body in (a, b))
    same = next((n for n, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), 0)
    common = common_head(before[same], after[same])
    return (sum(map(len, before[same:])) - common) // _CHARACTERS


def _text(block: Any) -> str:
    return block if isinstance(block, str) else json.dumps(block, ensure_ascii=False)


def _marked(body: dict[str, Any]) -> int:
    """Blocks up to the last that has a marker, in cache order."""
    blocks = list(_blocks(body))
    return max((n for n, block in enumerate(blocks, 1) if "cache_control" in block), default=0)


def _blocks(body: dict[str, Any]) -> Iterator[Any]:
    yield from body.get("tools", [])
    head = body.get("system", body.get("instructions", []))
    said = body["messages"] if "messages" in body else body["input"]
    for content in (head, *(each.get("content") or each for each in said)):
        yield from content if isinstance(content, list) else [content]


TOOL = Tool(
    name="promptcachelint",
    version="0.1.0",
    requires=("promptcachelint==0.1.0",),
    takes="`report` of a trace that its recorder wrote",
    words={
        "CL001": ("V01", *_CHANGED, "S03", "S04", "S05", "S06", "S08", "S09"),
        "CL002": (*_CHANGED, "O01", "S01", "S02"),
        "CL003": ("S10",),
        "CL004": ("M03",),
        "CL005": (),
        "CL006": ("M05",),
        "CL007": ("M02",),
        "CL010": ("M03",),
        "CL011": ("M04",),
        "CL012": ("V02", "V03"),
        "CL013": ("M03",),
        "CL014": (),
    },
    outside=_outside,
    command=_command,
    read=_read,
)
