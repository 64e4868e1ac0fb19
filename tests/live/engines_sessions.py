"""Sessions of a made-up agent: a main loop and a sub-agent take turns, and much else comes between.

A session is played against an engine one request after another. What the model said goes into the
history that the next request of its lane sends, as a client would send it; tool calls are made up,
because the tiny model makes none.
"""

import json
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from cachediag.model import Endpoint, Exchange, ExchangeInfo
from cachediag.protocol.reply import Reply, read_reply
from tests.live.engines_servers import Answer, Server

__all__ = [
    "Asked",
    "Played",
    "Reading",
    "Script",
    "chat_script",
    "messages_script",
    "play",
    "sampling_script",
]

Body = dict[str, Any]

_ENOUGH = 8
"""Tokens that let the model end its turn."""
_WORDS = (
    *("harbour", "tide", "ledger", "cargo", "beacon", "anchor", "signal", "rudder", "channel"),
    *("manifest", "quay", "mooring", "pilot", "draught", "bearing", "lantern", "ballast", "crew"),
)
_TOOLS = ("Bash", "Read", "Write", "Grep", "Chart", "Radio")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and whose it is."""

    lane: str
    body: Body


@dataclass(frozen=True, slots=True)
class Played:
    """A request that was served."""

    lane: str
    exchange: Exchange
    reused: int
    """Tokens that the engine says it took from its cache."""
    prompt_tokens: int | None
    """Tokens that it says the prompt has; None where it does not say."""


Script = Generator[Asked, Reply, None]
Reading = Callable[[Answer], tuple[int, int | None]]
"""How an engine tells what it reused of the request it just served: tokens reused, and tokens of
the prompt."""


def play(server: Server, path: str, script: Script, reading: Reading) -> list[Played]:
    """Send a session's requests one by one."""
    endpoint: Endpoint = "messages" if path == "/v1/messages" else "chat"
    played, asked = list[Played](), next(script)
    while True:
        request = {"model": server.model, **asked.body}
        body = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
        answer = server.post(path, body)
        info = ExchangeInfo(
            index=len(played),
            endpoint=endpoint,
            path=path,
            started=answer.started,
            first_byte=answer.first_byte,
            ended=answer.ended,
            status=answer.status,
            response_headers={"content-type": answer.content_type},
        )
        played.append(Played(asked.lane, Exchange(info, body, answer.body), *reading(answer)))
        reply = read_reply(endpoint, answer.content_type, answer.body)
        assert reply is not None
        try:
            asked = script.send(reply)
        except StopIteration:
            return played


def _prose(seed: str, sentences: int) -> str:
    chance = random.Random(seed)
    return " ".join(
        f"The {' '.join(chance.choices(_WORDS, k=8))} holds.".capitalize() for _ in range(sentences)
    )


def _schema(name: str) -> Body:
    field = {"type": "string", "description": _prose(name, 2)}
    return {"type": "object", "properties": {"command": field}, "required": ["command"]}


# --- /v1/messages ---


def messages_script() -> Script:
    """20 requests, for an engine that keeps four system prefixes."""
    main, sub = _main(), _sub()
    yield Asked("main", _message_body(main, _MAIN, 6))
    yield Asked("sub", _message_body(sub, _SUB, 3))
    _message_result(main, "Bash", "ls -l", "tide.txt\nmoor.txt")
    yield Asked("main", _message_body(main, _MAIN, 6))
    _message_result(sub, "Read", "tide.txt", _prose("tide", 4))
    yield Asked("sub", _message_body(sub, _SUB, 3))
    _message_result(main, "Grep", "größe", "Größe 日本語 🚢")
    reply = yield Asked("main", _message_body(main, _MAIN, 6))
    main += [_said(reply), _user("And the other quay?")]
    yield Asked("title", _message_body([_user("Name this.")], "Give a title.", 0, stream=False))
    reply = yield Asked("main", _message_body(main, _MAIN, 6, stream=False))
    yield Asked("main", _message_body(main, _MAIN, 6))
    _message_result(sub, "Grep", "moor", "moor.txt:3")
    yield Asked("sub", _message_body(sub, _SUB, 3))
    yield Asked("main", _message_body(main, f"{_MAIN} Today is another day.", 6))
    main += [_said(reply), _user("Once more, please.")]
    yield Asked("main", _message_body(main, _MAIN, 6))
    yield Asked("notes", _message_body([_user("Note the tide.")], _prose("notes", 9), 0))
    yield Asked("watch", _message_body([_user("Watch the tide.")], _prose("watch", 9), 0))
    yield Asked("sub", _message_body(sub, _SUB, 3))
    yield Asked("main", _message_body(main, _MAIN, 6))
    yield Asked("bare", _message_body([_user("No system text here.")], None, 2))
    yield Asked("main", _message_body([_user("\nA line before it.")], _MAIN, 6))
    inline = {"role": "system", "content": "The wind has turned."}
    for _ in range(2):
        yield Asked("main", _message_body([*main, inline, _user("And now?")], _MAIN, 6))
    yield Asked("main", _message_body(main, _MAIN, 6, tool_choice={"type": "none"}))


_MAIN, _SUB = _prose("main", 24), _prose("sub", 12)


def _main() -> list[Body]:
    return [_user("What lies at the quay?")]


def _sub() -> list[Body]:
    return [_user("Read the tide tables.")]


def _user(text: str) -> Body:
    return {"role": "user", "content": text}


def _said(reply: Reply) -> Body:
    return {"role": "assistant", "content": reply.text}


def _message_body(
    turns: list[Body], system: str | None, tools: int, *, stream: bool = True, **more: Any
) -> Body:
    """A body as Claude Code would send it, its billing header new with every request."""
    header = f"x-anthropic-billing-header: cc_version=2.1.113.fa9; cch={len(str(turns)):05x};"
    texts = [] if system is None else [header, system]
    given = [
        {"name": name, "description": _prose(name, 4), "input_schema": _schema(name)}
        for name in _TOOLS[:tools]
    ]
    return {
        "messages": list(turns),
        **({"system": [{"type": "text", "text": text} for text in texts]} if texts else {}),
        **({"tools": given} if given else {}),
        "max_tokens": _ENOUGH,
        "temperature": 0,
        "stream": stream,
        **more,
    }


def _message_result(turns: list[Body], tool: str, command: str, result: str) -> None:
    key = f"toolu_{len(turns)}"
    use = {"type": "tool_use", "id": key, "name": tool, "input": {"command": command}}
    given = {"type": "tool_result", "tool_use_id": key, "content": result}
    turns.append({"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]})
    turns.append({"role": "user", "content": [given]})


# --- /v1/chat/completions ---


def chat_script() -> Script:
    """27 requests, for an engine that keeps ten prompts with their replies."""
    main, sub = _main(), _sub()
    yield Asked("main", _chat_body(main, _MAIN, 6))
    yield Asked("sub", _chat_body(sub, _SUB, 3))
    _chat_result(main, "Bash", "ls -l", "tide.txt\nmoor.txt")
    yield Asked("main", _chat_body(main, _MAIN, 6))
    _chat_result(sub, "Read", "tide.txt", _prose("tide", 4))
    yield Asked("sub", _chat_body(sub, _SUB, 3))
    _chat_result(main, "Grep", "größe", "Größe 日本語 🚢")
    reply = yield Asked("main", _chat_body(main, _MAIN, 6))
    main += [_said(reply), _user("And the other quay?")]
    yield Asked("title", _chat_body([_user("Name this.")], "Give a title.", 0, stream=False))
    reply = yield Asked("main", _chat_body(main, _MAIN, 6, stream=False))
    yield Asked("main", _chat_body(main, _MAIN, 6))
    _chat_result(sub, "Grep", "moor", "moor.txt:3")
    yield Asked("sub", _chat_body(sub, _SUB, 3))
    yield Asked("main", _chat_body(main, f"{_MAIN} Today is another day.", 6))
    main += [_said(reply), _user("Once more, please.")]
    reply = yield Asked("main", _chat_body(main, _MAIN, 6, max_tokens=3))
    # The reply was cut off, and is gone on from as it is.
    main += [_said(reply), _user("Finish what you said.")]
    reply = yield Asked("main", _chat_body(main, _MAIN, 6))
    # The reply comes back changed, as from a client that trims and rewrites.
    main += [{"role": "assistant", "content": f"{reply.text[:-1]}!"}, _user("Thanks.")]
    yield Asked("main", _chat_body(main, _MAIN, 6))
    yield Asked("seeded", _chat_body([_user("Roll the dice.")], _SUB, 3, seed=1))
    reply = yield Asked("bare", _chat_body([_user("\nNo system text here.")], None, 2))
    for number in range(2):
        turns = [_user(f"\nA line before it, {number} times.")]
        yield Asked("line", _chat_body(turns, _MAIN, 6))
    for number in range(8):
        turns = [_user(f"{_WORDS[number]}: what is it?")]
        yield Asked(f"aside-{number}", _chat_body(turns, None, 0, stream=False))
    # By now the oldest are dropped.
    yield Asked("sub", _chat_body(sub, _SUB, 3))
    yield Asked("main", _chat_body(main, _MAIN, 6))


def sampling_script() -> Script:
    """13 requests that ask for what vllm-mlx's cached path can do, and for what it cannot."""
    neutral: Body = {"top_k": 0, "min_p": 0.0, "presence_penalty": 0, "repetition_penalty": 1.0}
    settings: list[Body] = [
        {},
        {"top_p": 0.5},
        neutral,
        {"stop": []},
        {"stop": ["never said"]},
        {"top_k": 20},
        {"min_p": 0.1},
        {"presence_penalty": 0.5},
        {"repetition_penalty": 1.1},
        {"tool_choice": "none", "stream": False},
        {"tool_choice": "auto", "stream": False},
    ]
    for setting in settings:
        yield Asked("main", {**_chat_body(_main(), _MAIN, 2), **setting})
    for _ in range(2):
        yield Asked("text", _chat_body(_main(), _SUB, 0, response_format={"type": "text"}))


def _chat_body(
    turns: list[Body], system: str | None, tools: int, *, stream: bool = True, **more: Any
) -> Body:
    given = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": _prose(name, 4),
                "parameters": _schema(name),
            },
        }
        for name in _TOOLS[:tools]
    ]
    opening = [] if system is None else [{"role": "system", "content": system}]
    return {
        "messages": [*opening, *turns],
        **({"tools": given} if given else {}),
        "max_tokens": _ENOUGH,
        "temperature": 0,
        "stream": stream,
        **({"stream_options": {"include_usage": True}} if stream else {}),
        **more,
    }


def _chat_result(turns: list[Body], tool: str, command: str, result: str) -> None:
    arguments = json.dumps({"command": command}, ensure_ascii=False)
    function = {"name": tool, "arguments": arguments}
    call = {"id": f"call_{len(turns)}", "type": "function", "function": function}
    turns.append({"role": "assistant", "content": "I look.", "tool_calls": [call]})
    turns.append({"role": "tool", "tool_call_id": call["id"], "content": result})
