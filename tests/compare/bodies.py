"""Made-up request bodies, small, in the shape that Claude Code sends."""

import copy
import json
from typing import Any

from cachediag.compare import Comparison, compare
from cachediag.protocol import parse
from cachediag.render import profile

Body = dict[str, Any]

HEADER = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch={};"
RULES = "\n".join(f"Rule {n}: keep answers short and say what you did." for n in "ABCDEFGH")


def body(**changes: Any) -> Body:
    """A main-loop request of one tool call."""
    made: Body = {
        "model": "claude-made-up",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "<context>\nThe date is 2026-11-29.\n</context>"},
                    {"type": "text", "text": "Fix the berth plan."},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "I read first.", "signature": "c2ln"},
                    {"type": "text", "text": "I read the plan."},
                    {
                        "type": "tool_use",
                        "id": "toolu_1",
                        "name": "Read",
                        "input": {"path": "plan.py", "limit": 20},
                    },
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"}],
            },
        ],
        "system": [
            {"type": "text", "text": HEADER.format("6c09a")},
            {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
        ],
        "tools": [
            tool("Bash", "Run a command."),
            tool("Grep", "Search file contents."),
            tool("Read", "Read a file from disk."),
        ],
        "metadata": {"user_id": "someone"},
        "max_tokens": 32000,
        "stream": True,
    }
    return copy.deepcopy({**made, **changes})


def tool(name: str, description: str) -> Body:
    return {
        "name": name,
        "description": description,
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["path", "limit"],
        },
    }


def raw(value: Body) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def held(a: Body, b: Body, name: str = "anthropic", *, one_talk: bool = True) -> Comparison:
    """Two bodies held against each other."""
    return compare(
        parse(raw(a), "messages"), parse(raw(b), "messages"), profile(name), one_talk=one_talk
    )


def codes(comparison: Comparison) -> list[tuple[str, str | None]]:
    """Code and path of all that is not harmless."""
    return [(f.code, f.path) for f in comparison.findings if f.severity != "info"]
