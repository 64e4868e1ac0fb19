"""Made-up chats with what the model replied, as a recorder would have stored them."""

import json
from collections.abc import Sequence
from typing import Any

from cachediag.analysis.analysed import Analysed
from cachediag.analysis.analyze import analyse
from cachediag.analysis.choice import choose
from cachediag.model import Exchange, ExchangeInfo

Message = dict[str, Any]

RULES = "\n".join(f"Rule {n}: keep answers short and say what you did." for n in range(40))
THOUGHT = "<think>\nThe tide table decides, and the berths of the north quay lie dry.\n</think>\n\n"
ANSWER = "B-02, B-07 and B-11; the last of them at high water only."
ASK = {"role": "user", "content": "Which berths are free?"}
MORE = {"role": "user", "content": "And tomorrow?"}


def said(content: str) -> Message:
    """What the model says."""
    return {"role": "assistant", "content": content}


def chat(*messages: Message, rules: str = RULES, tools: int = 0) -> Message:
    """A request."""
    offered = [{"name": f"Tool{n}", "description": RULES, "parameters": {}} for n in range(tools)]
    return {
        "model": "made-up",
        "messages": [{"role": "system", "content": rules}, *messages],
        "tools": [{"type": "function", "function": tool} for tool in offered],
    }


def exchange(index: int, body: Message, reply: str | None) -> Exchange:
    """A request and the text of its response; None for one that was not recorded."""
    response = b""
    if reply is not None:
        choice = {"index": 0, "message": said(reply), "finish_reason": "stop"}
        response = json.dumps({"choices": [choice]}).encode()
    info = ExchangeInfo(
        index=index,
        endpoint="chat",
        path="/v1/chat/completions",
        response_headers={"content-type": "application/json"},
    )
    return Exchange(info, json.dumps(body).encode(), response)


def played(
    turns: Sequence[tuple[Message, str | None]], engine: str, counted: str = "qwen2.5"
) -> list[Analysed]:
    """Requests with their replies, played to a cache."""
    sent = [exchange(number, body, reply) for number, (body, reply) in enumerate(turns)]
    choice = choose(
        "chat",
        profile_spec="generic",
        model_spec="qwen2.5",
        tokenizer_spec=counted,
        engine_spec=engine,
    )
    return list(analyse(sent, sent.__getitem__, choice))
