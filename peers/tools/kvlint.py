"""kvlint: `kvlint lint` of a log of chat requests, with a model's tokenizer and chat template.

It takes texts alone and drops the calls of a message, so each case is given as the turns that its
server's template would get, calls and results written out as text: the template then prints the
prompt that the case's tokens were counted in.
"""

import json
import runpy
from functools import cache
from pathlib import Path
from typing import Any

from cachediag.backends.sandbox.tokenizer import write_tokenizer
from peers.case import CASES, Case
from peers.tool import Command, Heard, Tool

__all__ = ["TOOL"]

_ELSEWHERE = ("-",)
"""Stands for a cause that no case has."""
_FIRST = "the first change is another one, and it looks at the first"
_NOT_CLAIMED = {
    "e02-escapes-in-a-result": "of unicode it claims to see normal forms, not escapes",
    "many-header-order-date": _FIRST,
    "many-note-and-date-in-one-text": _FIRST,
    "many-order-and-date-in-one-text": _FIRST,
    "many-property-and-key-order": "it leaves tools alone that differ in more than order",
    "v02-compact-timestamp": "a time without separators is not among those it lists",
    "v03-nonce-in-base64": "an identifier of no kind that it lists",
    "v03-scratch-directory": "an identifier of no kind that it lists",
    "v03-sortable-identifier": "an identifier of no kind that it lists",
    "v03-tool-call-identifiers": "an identifier of no kind that it lists",
}
_FEW_DIGITS = dict.fromkeys(
    (
        "many-identifier-and-counter",
        "v02-near-line-and-column",
        "v04-counter-in-chat",
        "v04-port",
        "v04-request-counter",
        "v04-share-and-separator",
    ),
    ("V04",),
)
"""Numbers of less than six digits, which it leaves alone, by its documentation."""
_UNSEEN = "the prompt that its server prints does not change"


def _outside(case: Case) -> str | None:
    if case.kind == "lint":
        return "it does not judge schemas"
    if case.answer.get("engine", "vllm").split(":")[0] not in ("vllm", "sglang"):
        return "it models the caches of vLLM and SGLang, by its documentation"
    if case.profile.startswith("vllm-mlx"):
        return "it does not say what another server makes of a request"
    if case.name in _NOT_CLAIMED:
        return _NOT_CLAIMED[case.name]
    if "S08" in (*case.causes, case.near_miss_of):
        return "it takes texts alone, no images, by its documentation"
    shared, reusable = (case.answer.get(f"{key}_tokens") for key in ("shared", "reusable"))
    return _UNSEEN if case.answer["breaks"] and shared == reusable and case.kind == "pair" else None


def _command(case: Case, folder: Path) -> Command:
    profile = case.answer.get("token_profile", case.profile)
    profile = "vllm-mlx@0.2.6" if case.endpoint == "messages" else profile
    with (folder / "log.jsonl").open("w", encoding="utf-8") as log:
        for body in case.bodies:
            turns, tools = _turns()(body, case.endpoint, profile)
            # The template begins each with the line end that the written turns hold.
            messages = [{"role": role, "content": text[1:]} for role, text in turns]
            log.write(json.dumps({"messages": messages, "tools": tools or None}) + "\n")
    model = folder.parent / "qwen2.5"
    if not model.exists():
        model.mkdir()
        write_tokenizer(model)
    report, engine = folder / "report.json", case.answer.get("engine", "")
    block = ("--block-size", engine.split("block=")[1]) if "block=" in engine else ()
    log_and_model = (folder / "log.jsonl", "--model", model, "--json", report, *block)
    return Command(["kvlint", "lint", *log_and_model], output=report)


def _read(case: Case, output: str) -> list[Heard]:
    del case
    report = json.loads(output)
    (sglang,) = (sim for sim in report["sims"] if sim["engine"] == "sglang")
    token = sglang["per_request"][-1]["divergence_token_idx"]
    return [Heard(found["rule_id"], token=token) for found in report["findings"]]


@cache
def _turns() -> Any:
    return runpy.run_path(str(CASES.parent / "prompts.py"))["prompt_turns"]


TOOL = Tool(
    name="kvlint",
    version="0.1.1",
    requires=("kvlint==0.1.1",),
    takes="`lint` of a chat log of texts, with Qwen2.5's tokenizer and template",
    words={
        "dynamic_time": ("V02",),
        "dynamic_id": ("V03", "V04"),
        "whitespace_drift": ("E01", "E02"),
        "key_order": ("O02",),
        "short_prefix": ("P03",),
        "user_in_system": _ELSEWHERE,
        "volatile_fewshot": _ELSEWHERE,
        "block_straddle": (),
    },
    unasked=_FEW_DIGITS,
    outside=_outside,
    command=_command,
    read=_read,
)
