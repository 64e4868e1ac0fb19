"""A small agent on the `anthropic` SDK, run as a script by the test beside it.

It has two turns with the model, calls a tool in the first, streams every second request, and
keeps one cache marker on its newest block. It prints, as JSON, the last reply's text and how
many seconds passed in that stream between the first event and the last.
"""

import json
import sys
import time
from typing import Any

import anthropic

client = anthropic.Anthropic(max_retries=0, timeout=30)
tools: list[Any] = [
    {
        "name": "look_up",
        "description": "Look up a word in the glossary.",
        "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}},
    }
]
messages: list[Any] = []


def request() -> dict[str, Any]:
    *earlier, last = messages
    *blocks, block = last["content"]
    marked = {**last, "content": [*blocks, {**block, "cache_control": {"type": "ephemeral"}}]}
    return {
        "model": "made-up-model",
        "max_tokens": 500,
        "system": "You explain the terms of bookbinding – in short sentences.",
        "tools": tools,
        "messages": [*earlier, marked],
    }


def say(*blocks: dict[str, Any]) -> None:
    messages.append({"role": "user", "content": list(blocks)})


def complete() -> Any:
    reply = client.messages.create(**request())
    messages.append({"role": "assistant", "content": reply.content})
    return reply


def stream() -> tuple[Any, float]:
    with client.messages.stream(**request()) as events:
        arrivals = [time.monotonic() for _ in events]
        reply = events.get_final_message()
    messages.append({"role": "assistant", "content": reply.content})
    return reply, arrivals[-1] - arrivals[0]


say({"type": "text", "text": "Explain: what is a kettle stitch?"})
call = complete().content[0]
say({"type": "tool_result", "tool_use_id": call.id, "content": "a knot between the sections"})
stream()
say({"type": "text", "text": "Next: and a headband? Naïve question – 糸?"})
complete()
say({"type": "text", "text": "Last: and a spine?"})
reply, seconds = stream()
json.dump({"text": reply.content[0].text, "seconds": seconds}, sys.stdout)
