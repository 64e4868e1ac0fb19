import json
import urllib.request

import pytest

from cachediag.demo import upstream as module
from cachediag.demo.script import Script
from cachediag.demo.upstream import running_upstream
from cachediag.errors import UpstreamError
from cachediag.model import Usage
from cachediag.protocol.response import ResponseFacts, has_token, read_response


def test_it_streams_the_reply_that_the_history_asks_for(words: Script) -> None:
    text = words.title.prompts[0]
    body = json.dumps(
        {"model": words.title.model, "messages": [{"role": "user", "content": text}]}
    ).encode()
    with running_upstream(*words.lanes) as upstream:
        with urllib.request.urlopen(f"{upstream.url}/v1/messages?beta=true", body) as response:
            answer = response.read()
            kind = response.headers["content-type"]
        assert upstream.received == [body]
    assert kind == "text/event-stream"
    events = [json.loads(line[5:]) for line in answer.splitlines() if line.startswith(b"data:")]
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[2]["delta"]["text"] == words.title.steps[0].content[0]["text"]
    assert events[4]["delta"]["stop_reason"] == "end_turn"
    assert has_token("messages", answer)
    written = events[4]["usage"]["output_tokens"]
    assert read_response("messages", kind, answer) == ResponseFacts(
        words.title.model, Usage(input_tokens=len(body) // 4, output_tokens=written)
    )


def test_no_port_is_told(words: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(module, "ThreadingHTTPServer", refuse)
    with (
        pytest.raises(UpstreamError, match=r"cannot listen there \(Operation not permitted\)"),
        running_upstream(*words.lanes),
    ):
        pass
