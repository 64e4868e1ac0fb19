"""cachediag itself, through its commands: `diff` for two bodies, `analyze`, `lint`."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cachediag import __version__
from cachediag.findings import all_codes
from peers.case import CASES, Case
from peers.tool import Command, Heard, Tool

__all__ = ["TOOL"]

_FINE = frozenset({0, 1})
"""1 where something was found."""
_OF_THE_CACHE = frozenset({"M02", "M03", "M04", "M05"})
"""Of what a cache does with a session; the answer of one that is not played does not say it."""
_URLS = {"messages": "messages", "chat": "chat/completions", "responses": "responses"}


def _outside(case: Case) -> str | None:
    del case
    return None


def _command(case: Case, folder: Path) -> Command:
    as_json = ("--format", "json")
    if case.kind == "pair":
        backend = ("--profile", case.profile, *_model(case))
        return Command(["cachediag", "diff", *case.files, *backend, *as_json], fine=_FINE)
    recording = folder / "case.har"
    entries = [_entry(case, number) for number in range(len(case.files))]
    recording.write_text(json.dumps({"log": {"entries": entries}}), encoding="utf-8")
    if case.kind == "lint":
        decoder = ("--decoder", case.answer["decoder"]) if "decoder" in case.answer else ()
        return Command(["cachediag", "lint", recording, *decoder, *as_json], fine=_FINE)
    engine = ("--engine", case.answer["engine"]) if case.played else ()
    backend = ("--profile", case.profile, *engine, *_model(case))
    return Command(["cachediag", "analyze", recording, *backend, *as_json], fine=_FINE)


def _model(case: Case) -> tuple[str, ...]:
    """What the backend's tokenizer is; the hosted one is not known."""
    return () if case.profile == "anthropic" else ("--model", "qwen2.5")


def _entry(case: Case, number: int) -> dict[str, Any]:
    """A request as a HAR has it, with its times and its reply where the case has them."""
    path = case.files[number]
    times = case.answer.get("times", [])
    started, first, ended = times[number] if times else (number, number, number)
    reply = path.with_suffix(".reply.json")
    content = {"text": reply.read_text(encoding="utf-8")} if reply.exists() else {}
    json_type = [{"name": "content-type", "value": "application/json"}]
    begun = datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=started)
    return {
        "startedDateTime": begun.isoformat(),
        "time": (ended - started) * 1000,
        "timings": {"wait": (first - started) * 1000},
        "request": {
            "method": "POST",
            "url": f"http://127.0.0.1/v1/{_URLS[case.endpoint]}",
            "headers": json_type,
            "postData": {"text": path.read_text(encoding="utf-8")},
        },
        "response": {"status": 200, "headers": json_type, "content": content},
    }


def _read(case: Case, output: str) -> list[Heard]:
    report = json.loads(output)
    found = report.get("findings", [])
    if case.kind == "session":
        found = [each for request in report["requests"] for each in request["findings"]]
    return [
        Heard(f["code"], f["path"])
        for f in found
        if f["severity"] in ("break", "cost") and (case.played or f["code"] not in _OF_THE_CACHE)
    ]


TOOL = Tool(
    name="cachediag",
    version=__version__,
    requires=(str(CASES.parents[1]),),
    takes="`diff` of the two bodies; `analyze` and `lint` of a HAR",
    words={code: (code,) for code in all_codes()},
    every=True,
    outside=_outside,
    command=_command,
    read=_read,
)
