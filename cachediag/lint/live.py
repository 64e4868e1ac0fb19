"""Bounded probes of a live backend: one schema at a time, so that the one that stalls it is named.

A constrained request may hold its server up for minutes, and with it every request behind it. So
no second request is in flight while one is, each has a deadline, and whether the server still
answers is looked at after each; where it does not recover, the run ends.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from cachediag.backends.asking import get
from cachediag.errors import UpstreamError
from cachediag.lint.schemas import Schema
from cachediag.model import Json
from cachediag.protocol.endpoint import PATHS
from cachediag.verify.send import Answer, RefusedError, UnfinishedError, send

__all__ = ["Bounds", "Probed", "Probes", "Protocol", "State", "probe"]

State = Literal["answered", "slow", "stalled", "refused", "failed"]
"""`answered`: the whole answer came. `slow`: tokens came, but late, or not all by the deadline.
`stalled`: not one token came. `refused`: the server said that it will not. `failed`: the connection
broke."""

Protocol = Literal["chat", "messages"]

_ASK: Final = "Answer with the shortest example that fits."
_PLAIN: Final = "Say ok."
_PLAIN_TOKENS: Final = 8
_LATE: Final = 5.0
"""So many times what a plain request takes is slow, if it is a second more too."""
_STANDING: Final = 10.0
"""A deadline is never less than so many times a plain request: a slow server is no stalled one."""
_NO_SUCH_PATH: Final = (404, 405)
_PAUSE_SECONDS: Final = 0.25
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_QUOTED_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a probe may take."""

    seconds: float = 30.0
    """For the whole answer."""
    tokens: int = 64
    """That are asked for."""
    recovery: float = 60.0
    """Seconds that the server may take, after a probe went wrong, to answer a plain request."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What became of one schema."""

    state: State
    seconds: float
    """Until the answer was complete, or was given up."""
    first_token: float | None = None
    """Seconds; None where no token came, or the answer was not streamed."""
    message: str | None = None
    """What the server said, where it refused. Untrusted."""
    healthy: bool = True
    """It answered a request afterwards."""
    recovered: float | None = None
    """Seconds that it took to, after a probe that went wrong; None where none did, or it did not
    recover."""
    schema: int = 0
    """Its number in the sequence that was given."""


@dataclass(frozen=True, slots=True)
class Probes:
    """A backend, probed."""

    protocol: Protocol
    plain: float
    """Seconds of a plain request before all others."""
    deadline: float
    """Of each probe, in seconds."""
    probed: tuple[Probed, ...]

    @property
    def stopped(self) -> bool:
        """The server did not recover from the last one: those that follow were not sent."""
        return bool(self.probed) and not self.probed[-1].healthy


def probe(
    base_url: str,
    schemas: Sequence[Schema],
    *,
    model: str | None = None,
    headers: Mapping[str, str] | None = None,
    bounds: Bounds | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Probes:
    """Send a request for each schema, one after another.

    Args:
        base_url: the server's.
        schemas: of tools, which the model is made to call, and of responses, asked for strictly.
        model: the name that the server gives its model; by default the one that each schema was
            recorded with.
        headers: to send, such as a credential.
        bounds: of each probe; by default 30 s.
        tell: told what is sent.

    Raises:
        UpstreamError: the server does not answer a plain request.
    """
    limits = bounds or Bounds()
    recorded = next((each.model for each in schemas if each.model), None)
    backend = _reached(_Backend(base_url, model or recorded or "default", headers or {}), limits)
    plain = min(_timed(lambda: backend.plain(limits.recovery)) for _ in range(2))
    backend = _Backend(
        base_url, backend.model, backend.headers, backend.protocol, named=model is not None
    )
    deadline = max(limits.seconds, _STANDING * plain)
    probed: list[Probed] = []
    for number, schema in enumerate(schemas):
        tell(f"probing {schema.name or schema.kind}, {number + 1} of {len(schemas)}")
        found = _probed(backend, schema, plain, deadline, limits)
        probed.append(replace(found, schema=number))
        if not found.healthy:
            break
    return Probes(backend.protocol, plain, deadline, tuple(probed))


@dataclass(frozen=True, slots=True)
class _Backend:
    base_url: str
    model: str
    headers: Mapping[str, str] = field(repr=False)
    protocol: Protocol = "chat"
    named: bool = True
    """The model's name is the server's, whatever was recorded."""

    def plain(self, deadline: float) -> None:
        """Send a request that asks for nothing in particular.

        Raises:
            UpstreamError: not a token comes.
        """
        message = {"role": "user", "content": _PLAIN}
        answer = self._sent({"messages": [message], "max_tokens": _PLAIN_TOKENS}, deadline)
        # A server may say within an answer of 200 that it is too busy for one.
        if answer.first_token is None and (said := _complaint(answer.body)) is not None:
            raise UpstreamError(f"no answer: {said}", where=self.base_url)

    def constrained(self, schema: Schema, tokens: int, deadline: float) -> Answer:
        message = {"role": "user", "content": _ASK}
        body = {"messages": [message], "max_tokens": tokens} | _ASKED[self.protocol](schema)
        if not self.named and schema.model:
            body["model"] = schema.model
        return self._sent(body, deadline)

    def _sent(self, body: dict[str, Json], deadline: float) -> Answer:
        return send(
            self.base_url,
            PATHS[self.protocol],
            json.dumps({"model": self.model, "stream": True, "temperature": 0, **body}).encode(),
            endpoint=self.protocol,
            headers=self.headers,
            deadline=deadline,
        )


def _reached(backend: _Backend, limits: Bounds) -> _Backend:
    """The backend, by the protocol that it speaks.

    Raises:
        UpstreamError: it speaks neither.
    """
    try:
        backend.plain(limits.recovery)
    except RefusedError as error:
        if error.status not in _NO_SUCH_PATH:
            raise
        other = _Backend(backend.base_url, backend.model, backend.headers, "messages")
        other.plain(limits.recovery)
        return other
    return backend


def _timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def _probed(
    backend: _Backend, schema: Schema, plain: float, deadline: float, limits: Bounds
) -> Probed:
    begun = time.perf_counter()
    first_token = message = None
    state: State
    try:
        answer = backend.constrained(schema, limits.tokens, deadline)
    except RecursionError:
        return Probed("refused", 0.0, message="nested too deeply to be written")
    except RefusedError as error:
        state, message = "refused", error.said
    except UnfinishedError as error:
        state, first_token = "slow" if error.first_token else "stalled", error.first_token
    except UpstreamError as error:
        state, message = "failed", error.message
    else:
        first_token = answer.first_token
        message = None if first_token else _complaint(answer.body)
        state = "refused" if message else _pace(answer, plain)
    seconds = time.perf_counter() - begun
    if state in ("answered", "refused") and get(backend.base_url, "/health") is not None:
        return Probed(state, seconds, first_token, message)
    recovered = _recovered(backend, limits.recovery)
    return Probed(state, seconds, first_token, message, recovered is not None, recovered)


def _pace(answer: Answer, plain: float) -> State:
    first = answer.total if answer.first_token is None else answer.first_token
    return "slow" if first > max(_LATE * plain, plain + 1.0) else "answered"


def _complaint(body: bytes) -> str | None:
    """The error in an answer that was begun as if all were well; None where there is none."""
    for line in body.decode("utf-8", "replace").splitlines():
        text = line.removeprefix("data:").strip()
        if text.startswith("{") and '"error"' in text:
            try:
                said = json.loads(text).get("error")
            except (ValueError, RecursionError, AttributeError):
                continue
            said = said.get("message", said) if isinstance(said, dict) else said
            return str(said)[:_QUOTED_CHARACTERS] if said else None
    return None


def _recovered(backend: _Backend, within: float) -> float | None:
    """Seconds until a plain request is answered; None where it is not."""
    begun, pause = time.monotonic(), _PAUSE_SECONDS
    while (left := within - (time.monotonic() - begun)) > 0:
        try:
            backend.plain(left)
        except UpstreamError:
            time.sleep(min(pause, left))
            pause *= 2
        else:
            return time.monotonic() - begun
    return None


def _chat(schema: Schema) -> dict[str, Json]:
    name = _NO_NAME.sub("_", schema.name or schema.kind)
    if schema.kind == "tool":
        function = {"name": name, "parameters": schema.schema, "strict": True}
        choice = {"type": "function", "function": {"name": name}}
        return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
    content = {"name": name, "schema": schema.schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": content}}


def _messages(schema: Schema) -> dict[str, Json]:
    name = _NO_NAME.sub("_", schema.name or schema.kind)
    if schema.kind == "tool":
        choice = {"type": "tool", "name": name}
        return {"tools": [{"name": name, "input_schema": schema.schema}], "tool_choice": choice}
    content = {"type": "json_schema", "schema": schema.schema}
    return {"output_config": {"format": content}}


_ASKED: Final[dict[Protocol, Callable[[Schema], dict[str, Json]]]] = {
    "chat": _chat,
    "messages": _messages,
}
