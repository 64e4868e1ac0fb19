"""Each tool's output in the shape that it has, read; no tool is run."""

import json
from pathlib import Path
from typing import Any

import pytest

from peers.case import Case, load
from peers.tool import Heard, Tool
from peers.tools import TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}
CASES = {case.name: case for case in load()}
MARKED, CHAT = CASES["v01-block-of-its-own"], CASES["o01-sorted-by-a-router"]


def _read(tool: str, case: Case, output: Any) -> list[Heard]:
    text = output if isinstance(output, str) else json.dumps(output)
    return BY_NAME[tool].read(case, text)


def test_cachediag() -> None:
    finding = {"code": "V01", "severity": "break", "path": "system[0].text"}
    quiet = {"code": "N01", "severity": "info", "path": "messages[3]"}
    heard = [Heard("V01", "system[0].text")]
    assert _read("cachediag", MARKED, {"findings": [finding, quiet]}) == heard
    session = {"requests": [{"findings": []}, {"findings": [quiet, finding]}]}
    assert _read("cachediag", CASES["m05-pause"], session) == heard


def test_prefixguard() -> None:
    first = {"broken": False, "findings": [{"cause": "VOLATILE_CONTENT", "block_id": "system"}]}
    broken = {"broken": True, "findings": [{"cause": "SYSTEM_MUTATED", "block_id": "system"}]}
    assert _read("prefixguard", MARKED, [first, broken]) == [
        Heard("VOLATILE_CONTENT", "system", suspicion=True),
        Heard("SYSTEM_MUTATED", "system"),
    ]
    told = {"broken": True, "findings": [{"cause": "HISTORY_REWRITE", "block_id": "messages[2]"}]}
    silent: dict[str, Any] = {"broken": False, "findings": []}
    case = CASES["s09-reasoning-item-dropped"]
    assert _read("prefixguard", case, [silent, told]) == [Heard("HISTORY_REWRITE", "input[2]")]


def test_cachelint() -> None:
    output = (
        "Provider: anthropic\nPrompt status: diverged\n"
        "First divergence: system[0].text (text_changed, offset 77)\n"
        "Context differences: metadata, stream\nFindings:\n"
        "  - prompt_text_changed: Text changes.\n  - context_changed: Context differs.\n"
    )
    assert _read("cachelint", MARKED, output) == [
        Heard("prompt_text_changed", "system[0].text"),
        Heard("context_changed", "metadata", suspicion=True),
        Heard("context_changed", "stream", suspicion=True),
    ]


def test_cachelint_tells_new_messages_as_inserted() -> None:
    end = len(MARKED.bodies[0]["messages"])
    output = (
        "First divergence: messages[{}] (inserted)\nFindings:\n  - prompt_inserted: It appears.\n"
    )
    (heard,) = _read("cachelint", MARKED, output.format(end))
    assert heard == Heard("prompt_inserted at the end", f"messages[{end}]")
    assert _read("cachelint", MARKED, output.format(1)) == [Heard("prompt_inserted", "messages[1]")]
    same = "First divergence: none\nFindings:\n  - prompt_identical: They match.\n"
    assert _read("cachelint", MARKED, same) == [Heard("prompt_identical")]


def _trace(*findings: dict[str, Any]) -> dict[str, Any]:
    return {"skipped_lines": [], "sessions": [{"requests": [{"findings": list(findings)}]}]}


def test_promptcachelint() -> None:
    broken = {"code": "CL001", "path": "system[0]", "data": {}}
    parameter = {"code": "CL003", "path": None, "data": {"key": "tool_choice"}}
    suspected = {"code": "CL012", "path": "messages[0].content[0]", "data": {}}
    size: dict[str, Any] = {"code": "CL011", "path": None, "data": {}}
    assert _read("promptcachelint", MARKED, _trace(broken, parameter, suspected, size)) == [
        Heard("CL001", "system[0]"),
        Heard("CL003", "tool_choice"),
        Heard("CL012", "messages[0].content[0]", suspicion=True),
    ]
    # A session's answer says what its size and its markers do.
    assert _read("promptcachelint", CASES["m04-short-prompt"], _trace(size)) == [Heard("CL011")]


def test_promptcachelint_with_lines_that_it_skipped_is_an_error() -> None:
    with pytest.raises(ValueError, match="skipped"):
        _read("promptcachelint", MARKED, {"skipped_lines": [{"line": 1}], "sessions": []})


def test_ctxdiff() -> None:
    # Its order of a Messages request is system, tools, messages.
    system, tools = (len(MARKED.bodies[0][key]) for key in ("system", "tools"))
    counts = [
        system + tools + sum(len(m["content"]) for m in body["messages"]) for body in MARKED.bodies
    ]
    breaks = [
        {"culprit_kind": "modified", "divergent_position": 0},
        {"culprit_kind": "reordered", "divergent_position": system + 1},
        {"culprit_kind": "evicted", "divergent_position": system + tools + 1},
    ]
    assert _read("ctxdiff", MARKED, {"blocks": counts, "breaks": breaks}) == [
        Heard("modified", "system[0]"),
        Heard("reordered", "tools[1]"),
        Heard("evicted", "messages[0].content[1]"),
    ]


def test_ctxdiff_with_other_blocks_than_the_request_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="blocks were recorded"):
        _read("ctxdiff", MARKED, {"blocks": [1, 1], "breaks": []})


def test_kvlint_tells_a_token() -> None:
    report = {
        "sims": [
            {"engine": "vllm", "per_request": [{"divergence_token_idx": 32}]},
            {
                "engine": "sglang",
                "per_request": [{"divergence_token_idx": None}, {"divergence_token_idx": 39}],
            },
        ],
        "findings": [{"rule_id": "dynamic_time"}, {"rule_id": "block_straddle"}],
    }
    assert _read("kvlint", MARKED, report) == [
        Heard("dynamic_time", token=39),
        Heard("block_straddle", token=39),
    ]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_case_is_written_in_the_form_that_the_tool_takes(tool: Tool, tmp_path: Path) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    # The model directory takes a second to write, and is not what is looked at.
    (tmp_path / "qwen2.5").mkdir()
    command = tool.command(CHAT, folder)
    written = [Path(a) for a in command.arguments if isinstance(a, Path) and a.exists()]
    assert written
    text = "".join(p.read_text(encoding="utf-8") for p in written if p.is_file())
    for body in CHAT.bodies:
        assert json.dumps(body["messages"][1]["content"])[1:-1] in text.replace('\\\\"', '\\"')


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_word_is_what_the_tool_says_and_stands_for_known_codes(tool: Tool) -> None:
    known = BY_NAME["cachediag"].codes
    # kvlint names causes that no case has.
    assert tool.codes - {"-"} <= known
    assert tool.name == "cachediag" or tool.requires == (f"{tool.name}=={tool.version}",)
