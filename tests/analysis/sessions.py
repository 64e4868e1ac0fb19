"""Made-up sessions: exchanges as a recorder would have stored them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cachediag.analysis import Request, requests
from cachediag.model import Endpoint, Exchange, ExchangeInfo, Usage
from cachediag.render import Profile
from tests.compare.bodies import Body, body, raw, tool

SUB_SYSTEM = "You search the harbour's plans and report what you found, nothing else.\n" * 4
TITLE_SYSTEM = "Write a short title, in sentence case, for the conversation that follows."


def main(*turns: str, header: str = "6c09a", **changes: Any) -> Body:
    """A main-loop request with some finished turns behind it."""
    made = body(**changes)
    made["system"][0]["text"] = made["system"][0]["text"].replace("6c09a", header)
    for turn in turns:
        made["messages"] += [
            {"role": "assistant", "content": [{"type": "text", "text": f"Reply to {turn}"}]},
            {"role": "user", "content": turn},
        ]
    return made


def sub_agent(task: str, *turns: str, header: str = "11111") -> Body:
    """A sub-agent's request: its own system prompt, fewer tools."""
    made = main(header=header)
    made["tools"] = [tool("Grep", "Search file contents."), tool("Read", "Read a file from disk.")]
    made["system"][1]["text"] = SUB_SYSTEM
    context = made["messages"][0]["content"][0]
    made["messages"] = [{"role": "user", "content": [context, {"type": "text", "text": task}]}]
    for turn in turns:
        made["messages"] += [
            {"role": "assistant", "content": [{"type": "text", "text": f"{task}: {turn} found"}]},
            {"role": "user", "content": turn},
        ]
    return made


def title(text: str) -> Body:
    """The request for a conversation's title."""
    return {
        "model": "small-made-up",
        "messages": [{"role": "user", "content": text}],
        "system": [{"type": "text", "text": TITLE_SYSTEM}],
        "tools": [],
        "max_tokens": 50,
    }


def recorded(
    bodies: Sequence[Body | bytes],
    headers: dict[int, dict[str, str]] | None = None,
    endpoints: dict[int, Endpoint] | None = None,
) -> list[Exchange]:
    """The bodies as exchanges of one session."""
    return [
        Exchange(
            ExchangeInfo(
                index=index,
                endpoint=(endpoints or {}).get(index, "messages"),
                path="/v1/messages",
                headers=(headers or {}).get(index, {}),
            ),
            made if isinstance(made, bytes) else raw(made),
        )
        for index, made in enumerate(bodies)
    ]


def reporting(exchanges: Sequence[Exchange], usages: Mapping[int, Usage]) -> list[Exchange]:
    """The same session with what some responses report, and the models that were asked."""
    return [
        replace(
            each,
            info=replace(
                each.info,
                usage=usages.get(number),
                model=json.loads(each.request)["model"],
            ),
        )
        for number, each in enumerate(exchanges)
    ]


def walked(exchanges: list[Exchange], profile: Profile | None = None) -> list[Request]:
    """The requests of a session."""
    return list(requests(exchanges, exchanges.__getitem__, profile))


def broken(request: Request) -> list[tuple[str, str | None]]:
    """Code and path of what broke a request's prefix."""
    return [(found.code, found.path) for found in request.breaks]
