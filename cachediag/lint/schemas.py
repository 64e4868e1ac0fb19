"""The schemas of a session: of its tools and of the responses it asks for, each content once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cachediag.errors import InputError
from cachediag.model import PROMPT_ENDPOINTS, Endpoint, Exchange, Json, Part, Prompt
from cachediag.protocol import Parser, jsontext
from cachediag.protocol.jsontext import step

__all__ = ["Asked", "Collected", "Instruction", "Kind", "Schema", "collect"]

Kind = Literal["tool", "response"]
"""Whose schema: a tool's arguments, or the whole response."""


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """One schema that a request gives its server, and where it stands.

    Two tools of one name with other descriptions are two: the description is part of the prompt.
    Captured, so untrusted: `schema` may be any JSON, of any depth that JSON is read to.
    """

    request: int
    """The first request that holds it."""
    path: str
    """JSON path of the schema itself in that request's body: `tools[3].input_schema`."""
    home: str
    """JSON path of the tool, or of the response format: `tools[3]`, `response_format`."""
    name: str | None
    """The tool's name, or the format's where it has one."""
    kind: Kind
    strict: bool
    """The request demands that the output fit it: `strict`, or a format that always does."""
    schema: Json
    description: str | None
    """What the request says of it to the model."""
    endpoint: Endpoint
    model: str | None
    """The model that the first request asks for."""
    agent: str | None
    """What the client calls itself in that request."""
    raw: bytes
    """The tool, or the format, as sent."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one request asks for; equal tools are the same tuples in every request."""

    request: int
    endpoint: Endpoint
    model: str | None
    tools: tuple[int, ...]
    """The tools that have a schema, in order, as numbers into `Collected.schemas`."""
    response: int | None
    """The schema of the response, likewise; None where none is asked for."""
    names: tuple[tuple[str, str], ...]
    """Every tool's path and name, those without a schema too."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One text of a system prompt, where it first stood. Captured, so untrusted."""

    request: int
    path: str
    text: str
    model: str | None


@dataclass(frozen=True, slots=True)
class Collected:
    """All schemas of a session, each content once, and which request asked for which."""

    schemas: tuple[Schema, ...]
    instructions: tuple[Instruction, ...]
    """The texts of the system prompts, each once."""
    requests: tuple[Asked, ...]
    problems: Mapping[int, str]
    """Request → why it could not be read."""

    def carried(self) -> tuple[int, ...]:
        """How many requests hold each schema."""
        counts = [0] * len(self.schemas)
        for asked in self.requests:
            own = {*asked.tools, *([] if asked.response is None else [asked.response])}
            for number in own:
                counts[number] += 1
        return tuple(counts)


def collect(exchanges: Iterable[Exchange]) -> Collected:
    """Gather the schemas of a session.

    A tool that was seen before is known again by its bytes, so that the cost of a request is that
    of its new text.

    Args:
        exchanges: all exchanges, in order; those that generate nothing are passed over.
    """
    collector, problems, requests = _Collector(), {}, []
    for exchange in exchanges:
        info = exchange.info
        if info.endpoint not in PROMPT_ENDPOINTS:
            continue
        try:
            requests.append(collector.add(exchange))
        except InputError as error:
            problems[info.index] = error.message
    return Collected(
        tuple(collector.schemas), tuple(collector.instructions), tuple(requests), problems
    )


class _Found(NamedTuple):
    path: str
    name: str | None
    kind: Kind
    strict: bool
    schema: Json
    description: str | None


_Reader = Callable[[Json], Iterator[_Found]]


class _Where(NamedTuple):
    request: int
    endpoint: Endpoint
    model: str | None
    agent: str | None


class _Tools(NamedTuple):
    numbers: tuple[int, ...]
    names: tuple[tuple[str, str], ...]


class _Collector:
    """Keeps what was seen, by content."""

    def __init__(self) -> None:
        self.schemas: list[Schema] = []
        self.instructions: list[Instruction] = []
        self._parser = Parser()
        self._read: set[bytes] = set()
        self._known: dict[bytes, tuple[int | None, str | None]] = {}
        self._lists: dict[tuple[tuple[Part, ...], ...], _Tools] = {}
        self._responses: dict[tuple[bytes, ...], int | None] = {}

    def add(self, exchange: Exchange) -> Asked:
        """Take in one request.

        Raises:
            InputError: its body cannot be read.
        """
        info = exchange.info
        prompt = self._parser.parse(exchange.request, info.endpoint)
        where = _Where(info.index, prompt.endpoint, prompt.model, info.headers.get("user-agent"))
        self._instructions(prompt, info.index)
        tools = self._tools(prompt, where)
        return Asked(
            where.request,
            where.endpoint,
            where.model,
            tools=tools.numbers,
            response=self._response(prompt, where),
            names=tools.names,
        )

    def _tools(self, prompt: Prompt, where: _Where) -> _Tools:
        runs = [run for run in prompt.runs if run.section == "tools" and run.indexes is not None]
        key = tuple(run.parts for run in runs)
        if key in self._lists:
            return self._lists[key]
        numbers: list[int] = []
        names: list[tuple[str, str]] = []
        for run in runs:
            for part, index in zip(run.parts, run.indexes or (), strict=True):
                home = step(run.path, index)
                number, name = self._tool(part, home, where)
                numbers += [] if number is None else [number]
                names += [] if name is None else [(home, name)]
        made = self._lists[key] = _Tools(tuple(numbers), tuple(names))
        return made

    def _tool(self, part: Part, home: str, where: _Where) -> tuple[int | None, str | None]:
        # Without its cache marker, which moves.
        content = part.blocks[0].canonical
        if content not in self._known:
            tool = jsontext.decode(part.raw)
            found = _schema_of_tool(tool, home)
            name = _text(_inner(tool)[0].get("name"))
            number = None
            if found is not None:
                number = self._keep(where, found, home, part.raw)
            self._known[content] = number, name
        return self._known[content]

    def _instructions(self, prompt: Prompt, request: int) -> None:
        for run in prompt.runs:
            if run.section != "system":
                continue
            for number, part in enumerate(run.parts):
                if part.raw in self._read:
                    continue
                self._read.add(part.raw)
                for block in run.place(number):
                    value = jsontext.decode(block.canonical)
                    text = value.get("text") if isinstance(value, dict) else value
                    path = block.path if block.is_string else step(block.path, "text")
                    if isinstance(text, str):
                        self.instructions.append(Instruction(request, path, text, prompt.model))

    def _response(self, prompt: Prompt, where: _Where) -> int | None:
        present = [name for name in _FORMATS if name in prompt.params]
        key = tuple(prompt.params[name] for name in present)
        if key not in self._responses:
            number = None
            for name in present:
                value = jsontext.decode(prompt.params[name])
                found = next(_FORMATS[name](value), None)
                if found is not None:
                    home = found.path.rpartition(".")[0] or name
                    number = self._keep(where, found, home, prompt.params[name])
                    break
            self._responses[key] = number
        return self._responses[key]

    def _keep(self, where: _Where, found: _Found, home: str, raw: bytes) -> int:
        self.schemas.append(Schema(home=home, raw=raw, **where._asdict(), **found._asdict()))
        return len(self.schemas) - 1


_SCHEMA_KEYS = ("input_schema", "parameters", "inputSchema")


def _schema_of_tool(tool: Json, home: str) -> _Found | None:
    inner, inside = _inner(tool)
    for key in _SCHEMA_KEYS:
        if isinstance(inner.get(key), dict | bool):
            return _Found(
                path=step(step(home, inside) if inside else home, key),
                name=_text(inner.get("name")),
                kind="tool",
                strict=inner.get("strict") is True,
                schema=inner[key],
                description=_text(inner.get("description")),
            )
    return None


def _inner(tool: Json) -> tuple[Mapping[str, Json], str]:
    """The part of a tool that names it, and the key under which that stands."""
    if not isinstance(tool, dict):
        return {}, ""
    function = tool.get("function")
    return (function, "function") if isinstance(function, dict) else (tool, "")


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _response_format(value: Json) -> Iterator[_Found]:
    """`response_format` of the chat protocol, and llama.cpp's schema beside `json_object`."""
    if not isinstance(value, dict):
        return
    inner = value.get("json_schema") if value.get("type") == "json_schema" else None
    if isinstance(inner, dict) and isinstance(inner.get("schema"), dict | bool):
        yield _format("response_format.json_schema.schema", inner, strict=None)
    if isinstance(value.get("schema"), dict):
        yield _format("response_format.schema", value, strict=True)


def _format(path: str, holder: Mapping[str, Json], *, strict: bool | None) -> _Found:
    return _Found(
        path=path,
        name=_text(holder.get("name")),
        kind="response",
        strict=holder.get("strict") is True if strict is None else strict,
        schema=holder["schema"],
        description=_text(holder.get("description")),
    )


def _inside(*keys: str, strict: bool | None) -> _Reader:
    """A reader of `{key: {key: {"type": "json_schema", "schema": …}}}`."""

    def read(value: Json) -> Iterator[_Found]:
        value = _within(value, keys[1:])
        if isinstance(value, dict) and isinstance(value.get("schema"), dict | bool):
            yield _format(".".join((*keys, "schema")), value, strict=strict)

    return read


def _within(value: Json, keys: Sequence[str]) -> Json:
    """What stands some keys deep; None where nothing does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _bare(*keys: str) -> _Reader:
    """A reader of a field that is the schema itself."""

    def read(value: Json) -> Iterator[_Found]:
        value = _within(value, keys[1:])
        if isinstance(value, dict):
            yield _Found(".".join(keys), None, "response", True, value, None)

    return read


_FORMATS = {
    "output_config": _inside("output_config", "format", strict=True),
    "output_format": _inside("output_format", strict=True),
    "response_format": _response_format,
    "text": _inside("text", "format", strict=None),
    "structured_outputs": _bare("structured_outputs", "json"),
    "guided_json": _bare("guided_json"),
}
"""Where a request may ask for a response of a schema. The last two are vLLM's own, newer and
older; the first two are the hosted API's, newer and older."""
