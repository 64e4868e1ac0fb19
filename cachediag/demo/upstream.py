"""A made-up model server on the loopback interface: it answers with what the script says."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cachediag.demo.script import Lane, Step
from cachediag.errors import UpstreamError
from cachediag.model import Json
from cachediag.protocol import jsontext

__all__ = ["Upstream", "replying", "running_upstream"]

_PATH = "/v1/messages"
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server that is running."""

    url: str
    received: list[bytes] = field(default_factory=list)
    """The bodies that came in, in order, as they came off the wire."""


@contextmanager
def running_upstream(*lanes: Lane) -> Iterator[Upstream]:
    """Answer `POST /v1/messages` as a stream of events, as long as the block lasts.

    Like a model, the server knows nothing but the request: what it replies follows from how the
    conversation opens and how often the model has spoken.

    Raises:
        UpstreamError: it cannot listen on the loopback interface.
    """
    # The first user message names the lane; a lane's title is asked for with the same words.
    replies = {
        (lane.model, lane.prompts[0], number): step
        for lane in lanes
        for number, step in enumerate(lane.steps)
    }
    with replying(lambda body: replies[_place(jsontext.decode(body))]) as upstream:
        yield upstream


@contextmanager
def replying(reply: Callable[[bytes], Step | None]) -> Iterator[Upstream]:
    """Answer `POST /v1/messages` as a stream of events, as long as the block lasts.

    Args:
        reply: makes the reply to a body, on a thread of its own; None where it cannot, which is
            answered with the status of a gateway.

    Raises:
        UpstreamError: it cannot listen on the loopback interface.
    """
    received: list[bytes] = []
    try:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(reply, received))
    except OSError as error:
        raise UpstreamError(
            f"the demo's server cannot listen there ({error.strerror})",
            where="127.0.0.1",
            remedy="The demo needs the loopback interface; allow it to open a port there.",
        ) from error
    # A connection that the proxy keeps open must not hold up the end.
    server.daemon_threads = True
    thread = threading.Thread(
        target=server.serve_forever, args=(_POLL_SECONDS,), name="cachediag-upstream", daemon=True
    )
    thread.start()
    try:
        yield Upstream(f"http://127.0.0.1:{server.server_address[1]}", received)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(
    reply: Callable[[bytes], Step | None], received: list[bytes]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path.partition("?")[0] != _PATH:
                self.send_error(404)
                return
            received.append(body)
            request, number = jsontext.decode(body), len(received)
            step = reply(body)
            if step is None:
                self.send_error(502)
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for event in _events(request, step, number, len(body)):
                data = f"event: {event['type']}\ndata: ".encode() + jsontext.encode(event) + b"\n\n"
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            """Keep quiet: stderr is the command's."""

    return Handler


def _place(request: Json) -> tuple[str, str, int]:
    messages = request["messages"]
    opening = messages[0]["content"]
    text = opening if isinstance(opening, str) else opening[0]["text"]
    said = sum(message["role"] == "assistant" for message in messages)
    return request["model"], text, said


def _events(request: Json, step: Step, number: int, size: int) -> Iterator[dict[str, Json]]:
    # A made-up server has no tokenizer: four bytes to a token is the usual estimate.
    usage = {"input_tokens": size // 4, "output_tokens": 1}
    message = {
        "id": f"msg_demo_{number:02}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    written = 0
    for index, block in enumerate(step.content):
        opened, delta = _parts(block)
        written += len(jsontext.encode(block))
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": "tool_use" if step.call else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": written // 4}}
    yield {"type": "message_stop"}


def _parts(block: dict[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
    """A block as it opens, and the delta that fills it."""
    if block["type"] == "text":
        return block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
    arguments = jsontext.encode(block["input"]).decode()
    return block | {"input": {}}, {"type": "input_json_delta", "partial_json": arguments}
