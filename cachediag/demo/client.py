"""A made-up coding agent: it plays the script against a server, as a real one would.

It sends whole conversations, runs the tools that the model calls, hands work to a sub-agent and
asks for a title beside it. Two habits of real clients make the session worth looking at: a
billing header whose `cch` is new in every request, and a cache marker that moves along.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from cachediag.demo.script import Lane, Script
from cachediag.errors import UpstreamError
from cachediag.model import Json
from cachediag.protocol import jsontext

__all__ = ["opening", "play", "play_alone"]

_PATH = "/v1/messages?beta=true"
_SECONDS = 30.0
_MARKER = {"type": "ephemeral"}


def play(script: Script, base_url: str) -> None:
    """Play the whole session.

    Args:
        script: what the user says, and what the tools return.
        base_url: the server, or a proxy that stands in for it, as `http://host:port`.

    Raises:
        UpstreamError: a request was not answered as it should be.
    """
    _Client(base_url, script.results, script=script).talk(script.main)


def play_alone(lane: Lane, base_url: str, timeout: float = 600.0) -> None:
    """Have one conversation with a server whose model does not know the script.

    Whatever the model replies, the talk goes on as if it had said what stands there.

    Args:
        lane: what the user and the model say, and what the tools return; no sub-agent is called.
        base_url: the server, or a proxy that stands in for it, as `http://host:port`.
        timeout: seconds that the server may be silent.

    Raises:
        UpstreamError: a request was not answered as it should be.
    """
    _Client(base_url, lane.results, timeout=timeout).talk(lane)


def opening(lane: Lane) -> bytes:
    """A body like that of a conversation's first request."""
    prompt: list[Json] = [{"type": "text", "text": lane.prompts[0]}]
    return _body(lane, f"{lane.header} cch=00000;", [{"role": "user", "content": prompt}])


class _Client:
    def __init__(
        self,
        base_url: str,
        results: Mapping[str, str | None],
        *,
        script: Script | None = None,
        timeout: float = _SECONDS,
    ) -> None:
        self._script = script
        self._results = results
        self._timeout = timeout
        self._host = urlsplit(base_url).netloc
        # Seeded, so that every demo shows the same characters.
        self._random = random.Random(5)  # noqa: S311

    def talk(self, lane: Lane) -> str:
        """Have one conversation, and return the model's last words."""
        messages: list[dict[str, Json]] = []
        steps = iter(lane.steps)
        for prompt in lane.prompts:
            messages.append({"role": "user", "content": [{"type": "text", "text": prompt}]})
            while True:
                content, step = self._ask(lane, messages), next(steps)
                if self._script is None:
                    content = list(step.content)
                elif lane is self._script.main and len(messages) == 1:
                    self.talk(self._script.title)
                messages.append({"role": "assistant", "content": content})
                results = [self._run(block) for block in content if block["type"] == "tool_use"]
                if not results:
                    break
                messages.append({"role": "user", "content": results})
        return str(messages[-1]["content"][0]["text"])

    def _run(self, call: dict[str, Json]) -> dict[str, Json]:
        text = self._results[call["id"]]
        if text is None and self._script:
            text = self.talk(self._script.agent)
        return {"type": "tool_result", "tool_use_id": call["id"], "content": text}

    def _ask(self, lane: Lane, messages: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
        header = f"{lane.header} cch={self._random.getrandbits(20):05x};"
        connection = HTTPConnection(self._host, timeout=self._timeout)
        headers = {"content-type": "application/json", "user-agent": "cachediag-demo"}
        try:
            with closing(connection):
                connection.request("POST", _PATH, _body(lane, header, messages), headers)
                response = connection.getresponse()
                if response.status == 200:
                    return _content(_events(response))
        except (OSError, HTTPException) as error:
            raise _failed(
                f"gave no answer ({error or type(error).__name__})", self._host
            ) from error
        raise _failed(f"answered with status {response.status}", self._host)


def _failed(what: str, host: str) -> UpstreamError:
    return UpstreamError(
        f"the demo's proxy {what}",
        where=host,
        remedy="Something on this machine comes between programs and 127.0.0.1; try without it.",
    )


def _body(lane: Lane, header: str, messages: Sequence[dict[str, Json]]) -> bytes:
    last = len(messages) - 1
    return jsontext.encode(
        {
            "model": lane.model,
            "messages": [
                _marked(message) if number == last else _plain(message)
                for number, message in enumerate(messages)
            ],
            "system": [{"type": "text", "text": header}, *lane.system],
            "tools": lane.tools,
            **lane.params,
        }
    )


def _marked(message: dict[str, Json]) -> dict[str, Json]:
    *before, last = message["content"]
    return message | {"content": [*before, last | {"cache_control": _MARKER}]}


def _plain(message: dict[str, Json]) -> dict[str, Json]:
    """A message without marker: real clients then write a prompt as a bare string."""
    match message:
        case {"role": "user", "content": [{"type": "text", "text": text}]}:
            return message | {"content": text}
    return message


def _events(lines: Iterator[bytes]) -> Iterator[dict[str, Json]]:
    for line in lines:
        if line.startswith(b"data:"):
            yield jsontext.decode(line[5:])


def _content(events: Iterator[dict[str, Json]]) -> list[dict[str, Json]]:
    """Put the reply's blocks together again from a stream."""
    content: list[dict[str, Json]] = []
    for event in events:
        match event:
            case {"type": "content_block_start", "content_block": block}:
                content.append(block)
            case {"delta": {"type": "text_delta", "text": text}}:
                content[-1] |= {"text": content[-1]["text"] + text}
            case {"delta": {"type": "input_json_delta", "partial_json": arguments}}:
                content[-1] |= {"input": jsontext.decode(arguments.encode())}
    return content
