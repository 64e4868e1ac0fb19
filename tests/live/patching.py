"""Real servers, patched and as released, that write down what their model is made to process.

A copy of a release holds a `sitecustomize.py` beside the engine. It notes each forward pass of the
model: how many tokens, and which one where it is one. So what was prefilled is counted where it
happens, and what is generated is compared token for token. It makes forward passes fail on demand.
"""

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachediag.backends.sandbox import Kind, copy_of, running
from cachediag.fix.patch import Options, apply, at_site, plan_patch, state_of
from tests.live.engines_packages import live_sandbox
from tests.live.engines_servers import Server

__all__ = ["RELEASES", "Watched", "copied", "patched_copy", "served", "usage_of"]

RELEASES = ("0.2.6", "0.2.8", "0.2.9", "0.3.0", "0.4.0", "0.4.1", "0.5.0", "0.6.0")

_ANSWER = 60.0
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

_WATCH = """
import importlib, os
from pathlib import Path

home = Path(os.environ["HOME"])
kind = os.environ["WATCHED_MODEL"]
model = importlib.import_module(f"mlx_lm.models.{kind}").Model
forward = model.__call__


def watched(self, inputs, *args, **kwargs):
    fail = home / "fail"
    if inputs.shape[1] > 1 and fail.exists():
        left = int(fail.read_text()) - 1
        fail.write_text(str(left)) if left else fail.unlink()
        raise RuntimeError("made to fail")
    token = inputs.item() if inputs.size == 1 else -1
    with (home / "forwards").open("a") as file:
        file.write(f"{inputs.shape[1]} {token}\\n")
    return forward(self, inputs, *args, **kwargs)


model.__call__ = watched

# The vocabulary is built anew for each reply, which takes longer than all else.
from transformers import PreTrainedTokenizerFast

build, built = PreTrainedTokenizerFast.get_vocab, {}


def remembered(self):
    if id(self) not in built:
        built[id(self)] = build(self)
    return built[id(self)]


PreTrainedTokenizerFast.get_vocab = remembered
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """A server whose model's forward passes are noted."""

    server: Server
    home: Path

    def ask(self, path: str, body: dict[str, Any]) -> tuple[bytes, list[tuple[int, int]]]:
        """Send a request; what it answers, and the forward passes: tokens, and which if one."""
        seen = len(self._forwards())
        request = {"model": self.server.model, "temperature": 0, **body}
        answer = self.server.post(path, json.dumps(request).encode())
        return answer.body, self._forwards()[seen:]

    def counted(self, body: dict[str, Any]) -> tuple[dict[str, int], int]:
        """Send a message whose reply has one token.

        Returns:
            Its usage, and how many tokens the model processed but for those of the reply.
        """
        answer, forwards = self.ask("/v1/messages", {**body, "max_tokens": 1})
        # The token of the reply is processed too, ahead of being asked for.
        return usage_of(answer), sum(size for size, _ in forwards) - 1

    def stats(self) -> dict[str, Any]:
        """What the patch tells of itself."""
        found: dict[str, Any] = self.server.get("/v1/cache/stats")["cachediag_prefix_cache"]
        return found

    def clear(self) -> dict[str, Any]:
        """Clear the server's caches; what it says."""
        request = urllib.request.Request(f"{self.server.url}/v1/cache", method="DELETE")
        with _direct.open(request, timeout=_ANSWER) as response:
            told: dict[str, Any] = json.load(response)
        return told

    def answers(self, body: dict[str, Any]) -> bool:
        """Whether it answers a message, though it may be busy at first with what a client left."""
        request = {"model": self.server.model, **body, "max_tokens": 1, "stream": False}
        headers = {"content-type": "application/json"}
        url, data = f"{self.server.url}/v1/messages", json.dumps(request).encode()
        end = time.monotonic() + _ANSWER
        while time.monotonic() < end:
            asked = urllib.request.Request(url, data, headers)
            try:
                with _direct.open(asked, timeout=_ANSWER) as response:
                    return bool(response.read())
            except urllib.error.HTTPError:
                time.sleep(0.1)
        return False

    def leave_without_a_stream(self, body: dict[str, Any]) -> None:
        """Send a message and go away while the reply is made that would be sent in one piece."""
        seen = len(self._forwards())
        request = json.dumps({"model": self.server.model, **body, "stream": False}).encode()
        with self._sent(request):
            end = time.monotonic() + _ANSWER
            while len(self._forwards()) < seen + 5:
                assert time.monotonic() < end
                time.sleep(0.05)

    def forwards(self) -> int:
        """How many forward passes there were."""
        return len(self._forwards())

    def leave(self, body: dict[str, Any], replies: int) -> None:
        """Send a message and go away after so many pieces of the streamed reply."""
        request = json.dumps({"model": self.server.model, **body, "stream": True}).encode()
        with self._sent(request) as connection:
            got = b""
            while got.count(b"event: content_block_delta") < replies:
                piece = connection.recv(4096)
                assert piece, got
                got += piece

    @contextmanager
    def _sent(self, request: bytes) -> Iterator[socket.socket]:
        host, _, port = self.server.url.removeprefix("http://").partition(":")
        head = "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        with socket.create_connection((host, int(port)), timeout=_ANSWER) as connection:
            connection.sendall(f"{head}Content-Length: {len(request)}\r\n\r\n".encode() + request)
            yield connection

    def fail(self, forwards: int) -> None:
        """Let the next so many forward passes of more than one token fail."""
        (self.home / "fail").write_text(str(forwards))

    def _forwards(self) -> list[tuple[int, int]]:
        file = self.home / "forwards"
        lines = file.read_text().splitlines() if file.exists() else []
        return [(int(size), int(token)) for size, token in map(str.split, lines)]


def copied(release: str, place: Path) -> Path:
    """A copy of a release, to be patched."""
    return copy_of(live_sandbox(), "vllm-mlx", release, place / "site")


def patched_copy(release: str, place: Path, options: Options) -> Path:
    """A copy of a release that is patched."""
    site = copied(release, place)
    apply(plan_patch(state_of(at_site(site)), options))
    return site


@contextmanager
def served(site: Path, release: str, home: Path, kind: Kind) -> Iterator[Watched]:
    """A server that runs from a copy.

    Args:
        site: the copy.
        release: of what release.
        home: a directory for its log and notes; it is made.
        kind: the model.
    """
    (site / "sitecustomize.py").write_text(_WATCH)
    home.mkdir()
    started = running(
        live_sandbox(),
        "vllm-mlx",
        release,
        site_dir=site,
        kind=kind,
        home=home,
        environment={"WATCHED_MODEL": kind.partition("-")[0]},
    )
    with started as server:
        yield Watched(Server(server.base_url, server.model, server.log), home)


def usage_of(answer: bytes) -> dict[str, int]:
    """The usage in an answer of `/v1/messages`, streamed or not."""
    if answer.startswith(b"{"):
        usage: dict[str, int] = json.loads(answer)["usage"]
        return usage
    lines = [line for line in answer.splitlines() if line.startswith(b"data: {")]
    told = [json.loads(line[6:]).get("usage") for line in lines]
    return next(usage for usage in reversed(told) if usage)
