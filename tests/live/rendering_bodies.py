"""Requests that are hard to render: what clients may send, in every mixture.

They are made from a seed, so that a test fails the same way twice. A body is one that the servers
accept; what they refuse, they give no prompt for.
"""

import json
import random
from typing import Any

__all__ = ["hard_bodies"]

Json = Any

_TEXTS = (
    "",
    " ",
    "\n",
    "ok",
    "Ship ahoy.",
    "\n\nTwo lines before, two behind.\n\n",
    "  padded  ",
    "Größe 日本語 🚢 e\u0301 \u2028 \x7f \t tab",
    "<|im_start|>system\nquoted<|im_end|>",
    "<think>\nfirst\n</think>\n\nthen",
    "<think>open and no end",
    "</think>\n\nclosed only",
    "<think>a</think>b<think>c</think>\n\nd",
    'I call <tool_call>\n{"name": "x"}\n</tool_call>',
    '<think>so <tool_call>{"name": "x"}</tool_call>',
    "<tool_call>x</tool_call> <think>later",
    "<tool_response>\nnot really\n</tool_response>",
    "{{ not a template }} {% raw %}",
    "quotes \" and \\ and ' and `",
    "x-anthropic-billing-header: cc_version=2.1.113.fa9; cch=6c09a;",
    "x-anthropic-billing-header: cc_version=2.1.113.fa9; cch=6c09a;\nYou are Tern.",
    "Before.\nX-Anthropic-Billing-Header: in the middle\nAfter.",
    "Said: x-anthropic-billing-header: quoted; and more\nlast line",
    "ends with\nx-anthropic-billing-header: at the end",
)
_VALUES: tuple[Json, ...] = (
    1, -0.0, 1.0, 1e22, 1.5e-7, 12345678901234567890, True, None, "", "é\n\"", [], {},
    [1, [2, {"b": None, "a": "z"}]], {"z": 1, "a": {"y": "ü", "b": []}},
)  # fmt: skip
_NAMES = ("Bash", "Read", "mcp__db__query", "a-b_C9")


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.calls = 0

    def body(self) -> tuple[str, Json]:
        chat = self.random.random() < 0.4
        return ("/v1/chat/completions", self.chat()) if chat else ("/v1/messages", self.messages())

    # --- what both protocols share ---

    def some(self, chance: float) -> bool:
        return self.random.random() < chance

    def text(self) -> str:
        return self.random.choice(_TEXTS)

    def value(self) -> Json:
        return self.random.choice(_VALUES)

    def arguments(self) -> dict[str, Json]:
        return {self.random.choice("zyxab") + str(n): self.value() for n in range(self.count(4))}

    def count(self, most: int) -> int:
        return self.random.randint(0, most)

    def name(self) -> str:
        return self.random.choice(_NAMES)

    def call_id(self) -> str:
        self.calls += 1
        return f"call_{self.calls}"

    def schema(self) -> Json:
        return {"type": "object", "properties": {"z": {"type": "string"}, "a": self.value()}}

    def shared(self) -> dict[str, Json]:
        body: dict[str, Json] = {"model": "m", "max_tokens": 9}
        if self.some(0.7):
            body["stream"] = True
        if self.some(0.15):
            body["chat_template_kwargs"] = {"enable_thinking": self.some(0.5), "other": [1]}
        return body

    # --- /v1/messages ---

    def messages(self) -> Json:
        body = self.shared()
        if self.some(0.8):
            system = [{"type": "text", "text": self.text()} for _ in range(self.count(3))]
            body["system"] = self.text() if self.some(0.3) else system
        if self.some(0.6):
            body["tools"] = [self.message_tool(name) for name in _NAMES[: self.count(4)]]
        body["messages"] = [self.message() for _ in range(1 + self.count(7))]
        if self.some(0.3):
            choices: list[Json] = [{"type": kind} for kind in ("auto", "any", "none")]
            if body.get("tools"):
                choices.append({"type": "tool", "name": body["tools"][0]["name"]})
            body["tool_choice"] = self.random.choice(choices)
        return body

    def message_tool(self, name: str) -> Json:
        tool: dict[str, Json] = {"input_schema": self.schema(), "name": name}
        if self.some(0.2):
            del tool["input_schema"]
        if self.some(0.8):
            tool["description"] = self.text()
        if self.some(0.2):
            tool["cache_control"] = {"type": "ephemeral"}
        return tool

    def message(self) -> Json:
        role = self.random.choices(("user", "assistant", "system"), (5, 5, 1))[0]
        if self.some(0.3):
            return {"role": role, "content": self.text()}
        return {"role": role, "content": [self.block(role) for _ in range(self.count(4))]}

    def block(self, role: str) -> Json:
        kinds = {
            "user": ("text", "text", "tool_result", "tool_result", "image", "document"),
            "assistant": ("text", "text", "tool_use", "tool_use", "thinking", "redacted_thinking"),
            "system": ("text",),
        }
        kind = self.random.choice(kinds[role])
        block: dict[str, Json] = {"type": kind}
        if kind == "text":
            block["text"] = self.text()
        elif kind == "tool_use":
            block |= {"id": self.call_id(), "name": self.name(), "input": self.arguments()}
        elif kind == "tool_result":
            block["tool_use_id"] = self.call_id()
            block |= self.result()
        elif kind == "image":
            block["source"] = {"type": "base64", "media_type": "image/png", "data": "aGk="}
        elif kind == "document":
            block["source"] = {"type": "text", "media_type": "text/plain", "data": "doc"}
        elif kind == "thinking":
            block |= {"thinking": "Hm.", "signature": "c2ln"}
        else:
            block["data"] = "c2VjcmV0"
        if self.some(0.1):
            block["cache_control"] = {"type": "ephemeral"}
        return block

    def result(self) -> dict[str, Json]:
        if self.some(0.2):
            return {}
        if self.some(0.5):
            return {"content": self.text(), "is_error": self.some(0.5)}
        image = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
        items = [{"type": "text", "text": self.text()} for _ in range(self.count(3))]
        return {"content": [*items, image] if self.some(0.2) else items}

    # --- /v1/chat/completions ---

    def chat(self) -> Json:
        body = self.shared()
        if self.some(0.6):
            body["tools"] = [self.chat_tool(name) for name in _NAMES[: self.count(4)]]
        body["messages"] = [self.turn() for _ in range(1 + self.count(8))]
        if self.some(0.3):
            choices: list[Json] = ["auto", "none", "required"]
            if body.get("tools"):
                function = {"name": body["tools"][0]["function"]["name"]}
                choices.append({"type": "function", "function": function})
            body["tool_choice"] = self.random.choice(choices)
        if body.get("stream") and self.some(0.2):
            body["enable_thinking"] = self.some(0.5)
        return body

    def chat_tool(self, name: str) -> Json:
        function: dict[str, Json] = {"parameters": self.schema(), "strict": True, "name": name}
        if self.some(0.2):
            del function["parameters"]
        if self.some(0.8):
            function["description"] = self.text()
        return {"function": function, "type": "function"}

    def turn(self) -> Json:
        roles = ("user", "assistant", "tool", "system", "developer")
        role = self.random.choices(roles, (4, 4, 3, 1, 1))[0]
        turn: dict[str, Json] = {"role": role, "content": self.content(role)}
        if role == "tool":
            turn["tool_call_id"] = self.call_id()
        if role == "assistant" and self.some(0.5):
            turn["tool_calls"] = [self.tool_call() for _ in range(self.count(2))]
            if self.some(0.5):
                turn["content"] = None
        if role == "assistant" and self.some(0.2):
            turn["reasoning_content"] = "Hm."
        return turn

    def content(self, role: str) -> Json:
        if self.some(0.6):
            return self.text()
        items: list[Json] = [{"type": "text", "text": self.text()} for _ in range(self.count(3))]
        if role == "user" and self.some(0.2):
            items.append({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}})
        return items

    def tool_call(self) -> Json:
        spelled = json.dumps(self.arguments(), ensure_ascii=self.some(0.5))
        if self.some(0.1):
            spelled = self.random.choice(('{"cut": ', "[1, 2]", '"text"', ""))
        function = {"name": self.name(), "arguments": spelled}
        return {"id": self.call_id(), "type": "function", "function": function}


def hard_bodies(count: int, seed: int = 1) -> list[tuple[str, bytes]]:
    """Path and body of some requests."""
    made = (_Maker(seed * 100_003 + number).body() for number in range(count))
    return [(path, json.dumps(body, ensure_ascii=False).encode()) for path, body in made]
