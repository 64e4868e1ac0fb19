"""cachelint: `cachelint diff` of two request bodies, told as text.

It tells the first difference of what it calls the modeled prompt, and no values.
"""

import re
from pathlib import Path

from peers.case import Case
from peers.tool import Command, Heard, Tool

__all__ = ["TOOL"]

_PLACE = re.compile(r"^First divergence: (?P<path>\S+) \(", re.MULTILINE)
_FINDING = re.compile(r"^  - (?P<word>\w+):", re.MULTILINE)
_CONTEXT = re.compile(r"^Context differences: (?P<fields>.*)$", re.MULTILINE)
_PROVIDERS = {"messages": "anthropic", "chat": "openai"}
_TEXT = ("V01", "V02", "V03", "V04", "V05", "V06", "O03", "S04", "S05", "E01", "E02")


def _outside(case: Case) -> str | None:
    if case.kind != "pair":
        return "it compares bodies as one group, and knows no times and no engines"
    if case.endpoint not in _PROVIDERS:
        return "it reads Messages and Chat Completions, by its documentation"
    if case.profile.startswith("vllm-mlx"):
        return "it does not say what a server makes of a request"
    if len({body["model"] for body in case.bodies}) > 1:
        return "it refuses requests of two models, by its documentation"
    return None


def _command(case: Case, folder: Path) -> Command:
    del folder
    provider = ("--provider", _PROVIDERS[case.endpoint])
    return Command(["cachelint", "diff", *case.files, *provider])


def _read(case: Case, output: str) -> list[Heard]:
    place = _PLACE.search(output)
    path = place["path"] if place else None
    found = []
    for word in _FINDING.findall(output):
        if word == "context_changed":
            fields = _CONTEXT.search(output)
            names = fields["fields"].split(", ") if fields else []
            # Its own words: nothing about the cache follows from it.
            found += [Heard(word, name, suspicion=True) for name in names]
        elif word == "prompt_inserted" and path == f"messages[{_count(case)}]":
            # What comes behind all that was sent before is told as inserted.
            found.append(Heard("prompt_inserted at the end", path))
        else:
            found.append(Heard(word, path))
    return found


def _count(case: Case) -> int:
    return len(case.bodies[0]["messages"])


TOOL = Tool(
    name="cachelint",
    version="0.1.0a2",
    requires=("cachelint==0.1.0a2",),
    takes="`diff` of the two bodies",
    words={
        "prompt_text_changed": (*_TEXT, "S06"),
        "prompt_structure_changed": (*_TEXT, "O01", "S01", "S02", "S08", "S09", "S06"),
        "prompt_inserted": ("S01", "S03", "S06"),
        "prompt_removed": ("S01", "S03", "S05", "S06", "S09"),
        "prompt_inserted at the end": (),
        "context_changed": ("S10",),
        "prompt_identical": (),
        "coverage_limited": (),
        "insufficient_data": (),
    },
    markers=False,
    outside=_outside,
    command=_command,
    read=_read,
)
