"""ctxdiff: what `ctxdiff cache` reports of a trace that its recorder wrote.

The recorder wraps a client. It is given one that answers nothing, of the shape of its own demo's,
and the report is taken from the function behind the command, which tells the block's position too.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peers.case import Case
from peers.tool import Command, Heard, Tool

__all__ = ["TOOL"]

_RECORD = """
import dataclasses, json, sys
from types import SimpleNamespace as Space
from ctxdiff import trace
from ctxdiff.analyze.cache import analyze_cache
from ctxdiff.store.ctrace import CTrace

def create(**request):
    return Space(usage=None)

class Client:
    pass

path, provider, endpoint, bodies = sys.argv[1:]
Client.__module__ = provider
client = Client()
client.messages = client.responses = Space(create=create)
client.chat = Space(completions=Space(create=create))
tracer = trace.init("case", path=path)
wrapped = tracer.wrap(client)
call = wrapped.chat.completions if endpoint == "chat" else getattr(wrapped, endpoint)
for body in json.load(open(bodies)):
    call.create(**body)
tracer.close()
store = CTrace.open(path)
counts = [len(store.get_call_blocks(call.id)) for call in store.get_calls()]
print(json.dumps({"blocks": counts, **dataclasses.asdict(analyze_cache(store))}))
"""
_CHANGED = ("V01", "V02", "V03", "V04", "V05", "V06", "O03", "E01", "E02", "E04")


def _outside(case: Case) -> str | None:
    if case.kind != "pair":
        return "it compares the turns of one agent, and knows no engines"
    if case.profile.startswith("vllm-mlx"):
        return "it does not say what a server makes of a request"
    if set(case.causes) == {"O02"}:
        return "it records blocks with their keys sorted"
    if case.name == "s05-went-back":
        return "a prompt that is a head of the earlier one is no break"
    return None


def _command(case: Case, folder: Path) -> Command:
    # A streamed request is recorded when its stream has been read, and here none is.
    bodies = [{k: v for k, v in body.items() if k != "stream"} for body in case.bodies]
    (folder / "bodies.json").write_text(json.dumps(bodies), encoding="utf-8")
    provider = "anthropic" if case.endpoint == "messages" else "openai"
    given = (folder / "case.ctrace", provider, case.endpoint, folder / "bodies.json")
    return Command(["python", "-I", "-c", _RECORD, *given])


def _read(case: Case, output: str) -> list[Heard]:
    report = json.loads(output)
    places = [list(_places(body, case.endpoint)) for body in case.bodies]
    if report["blocks"] != [len(each) for each in places]:
        raise ValueError(f"{report['blocks']} blocks were recorded, not {list(map(len, places))}")
    found = []
    for made in report["breaks"]:
        side = 0 if made["culprit_kind"] == "evicted" else 1
        found.append(Heard(made["culprit_kind"], places[side][made["divergent_position"]]))
    return found


def _places(body: dict[str, Any], endpoint: str) -> Iterator[str]:
    """The JSON path of each block, in the order in which ctxdiff numbers them."""
    top = {"messages": "system", "responses": "instructions"}.get(endpoint, "")
    if isinstance(body.get(top), str):
        yield top
    else:
        yield from (f"{top}[{n}]" for n, _ in enumerate(body.get(top, [])))
    yield from (f"tools[{n}]" for n, _ in enumerate(body.get("tools", [])))
    said = "input" if endpoint == "responses" else "messages"
    for number, each in enumerate(body[said]):
        here, content, calls = f"{said}[{number}]", each.get("content"), each.get("tool_calls", [])
        if isinstance(content, list) and "role" in each:
            yield from (f"{here}.content[{n}]" for n, _ in enumerate(content))
        elif content or not calls:
            yield here
        yield from (f"{here}.tool_calls[{n}]" for n, _ in enumerate(calls))


TOOL = Tool(
    name="ctxdiff",
    version="0.5.1",
    requires=("ctxdiff==0.5.1",),
    takes="the calls of a client that it wraps, then its `cache` report",
    words={
        "modified": (*_CHANGED, "S02", "S04", "S05", "S08", "S09"),
        "added": ("S01", "S03", "S05", "S06", "S08"),
        "evicted": ("S01", "S03", "S05", "S06", "S08", "S09"),
        "reordered": ("O01",),
        "changed": (),
    },
    markers=False,
    outside=_outside,
    command=_command,
    read=_read,
)
