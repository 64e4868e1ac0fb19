"""What is said in the demo: three lanes of one made-up coding session.

The requests have the shape and the size of a real coding agent's (about 50 KB of tools, 10 KB of
system prompt, a growing conversation). All words come from `words.toml`; the same lines are given
to each tool and each section with its own names filled in, so the file stays small.
"""

import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources

from cachediag.model import Json

__all__ = ["Lane", "Script", "Step", "script"]

_COMMON_LINES = 7
_SEARCH_TOOLS = ("FindReferences", "GitLog", "Glob", "Grep", "ListDirectory", "Read")
_MARKER = {"type": "ephemeral"}
_VERSION = "2.1.113"
_TITLE = {
    "type": "json_schema",
    "schema": {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the model."""

    content: tuple[dict[str, Json], ...]
    """Its blocks: a text, and a tool call where the turn goes on."""
    result: str | None = None
    """What the called tool returns; None where nothing is called, or where a sub-agent runs."""

    @property
    def call(self) -> dict[str, Json] | None:
        """The tool call."""
        return next((block for block in self.content if block["type"] == "tool_use"), None)


@dataclass(frozen=True, slots=True)
class Lane:
    """One conversation: its sender, what the user says, what the model replies."""

    name: str
    model: str
    header: str
    """The fields of the billing header before the one that rotates."""
    system: tuple[dict[str, Json], ...]
    """The system blocks after the billing header."""
    tools: tuple[dict[str, Json], ...]
    params: Mapping[str, Json]
    """The fields of the body after the tools."""
    prompts: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def results(self) -> dict[str, str | None]:
        """What each tool call returns, by its id; None where the agent is called."""
        return {step.call["id"]: step.result for step in self.steps if step.call}


@dataclass(frozen=True, slots=True)
class Script:
    """The whole session. The main lane calls the agent; the title is asked for beside it."""

    main: Lane
    title: Lane
    agent: Lane

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes in the order in which they begin."""
        return self.main, self.title, self.agent

    @property
    def requests(self) -> int:
        """How many requests the session takes."""
        return sum(len(lane.steps) for lane in self.lanes)

    @property
    def results(self) -> dict[str, str | None]:
        """What each tool call returns, by its id; None where the agent is called."""
        return {call: result for lane in self.lanes for call, result in lane.results.items()}


def script() -> Script:
    """Make the session; it is the same each time."""
    words = tomllib.loads(
        resources.files("cachediag.demo").joinpath("words.toml").read_text(encoding="utf-8")
    )
    tools = tuple(_tool(tool, words["guide"]) for tool in words["tool"])
    few = tuple(tool for tool in tools if tool["name"] in _SEARCH_TOOLS)
    agent, talk, models = words["agent"], words["talk"], words["models"]
    search, opening = talk["search"], talk["prompts"][0]
    environment = words["project"]["environment"].format_map(words["project"])
    return Script(
        main=Lane(
            name="main",
            model=models["main"],
            header=_header(opening),
            system=_system(agent["identity"], _instructions(words), environment),
            tools=tools,
            params=_params(32_000),
            prompts=tuple(talk["prompts"]),
            steps=_steps("main", words),
        ),
        agent=Lane(
            name="agent",
            model=models["main"],
            header=f"{_header(search)} cc_is_subagent=true;",
            system=_system(
                agent["search_identity"],
                _bullets(agent["search_lines"]),
                environment,
            ),
            tools=few,
            params=_params(32_000),
            prompts=(search,),
            steps=_steps("agent", words),
        ),
        title=Lane(
            name="title",
            model=models["title"],
            header=_header(opening),
            system=({"type": "text", "text": agent["title"]},),
            tools=(),
            params=_params(512, effort=None),
            prompts=(opening,),
            steps=_steps("title", words),
        ),
    )


def _header(opening: str) -> str:
    # In the real client, too, the end of the version follows from the first message.
    suffix = sha256(opening.encode()).hexdigest()[:3]
    return f"x-anthropic-billing-header: cc_version={_VERSION}.{suffix}; cc_entrypoint=cli;"


def _system(identity: str, instructions: str, environment: str) -> tuple[dict[str, Json], ...]:
    return (
        {"type": "text", "text": identity, "cache_control": _MARKER},
        {"type": "text", "text": instructions, "cache_control": _MARKER},
        {"type": "text", "text": environment},
    )


def _instructions(words: Json) -> str:
    agent, project = words["agent"], words["project"]
    parts = [agent["introduction"]]
    for section in agent["section"]:
        shared = [line.format_map(section) for line in agent["shared"]]
        parts.append(f"# {section['heading']}\n{_bullets([*section['lines'], *shared])}")
    return "\n\n".join([*parts, project["notes"].format_map(project)])


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _params(max_tokens: int, effort: str | None = "medium") -> dict[str, Json]:
    session = sha256(b"cachediag demo").hexdigest()
    return {
        "metadata": {"user_id": f"user_{session}_session_{session[:32]}"},
        "max_tokens": max_tokens,
        **({"thinking": {"type": "adaptive"}} if effort else {}),
        **({"context_management": {"edits": []}} if effort else {}),
        "output_config": {"effort": effort} if effort else {"format": _TITLE},
        "stream": True,
    }


def _tool(tool: Json, guide: Json) -> dict[str, Json]:
    # A choice that is the tool's own, so that no two descriptions are alike but for the name.
    common = random.Random(tool["name"]).sample(guide["common"], _COMMON_LINES)  # noqa: S311
    lines = [line.format_map(tool) for line in (*guide[tool["kind"]], *common)]
    description = f"{tool['purpose']}\n\nUse it when {tool['use']}.\n\n{_bullets(lines)}"
    return {
        "name": tool["name"],
        "description": description,
        "input_schema": _object(tool["parameters"]),
    }


def _object(parameters: Json) -> dict[str, Json]:
    properties = {
        name.rstrip("?"): {"description": description, **_type(kind)}
        for name, kind, description in parameters
    }
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name, _, _ in parameters if not name.endswith("?")],
        "additionalProperties": False,
    }


def _type(kind: Json) -> dict[str, Json]:
    """The schema of a parameter: `string`, `integer:0:50`, `enum:a,b`, or the fields of a list."""
    if isinstance(kind, list):
        return {"type": "array", "items": _object(kind), "minItems": 1}
    name, _, rest = kind.partition(":")
    match name:
        case "enum":
            return {"type": "string", "enum": rest.split(",")}
        case "integer":
            low, high = map(int, rest.split(":"))
            return {"type": "integer", "minimum": low, "maximum": high}
        case "strings":
            return {"type": "array", "items": {"type": "string"}}
    return {"type": name}


def _steps(lane: str, words: Json) -> tuple[Step, ...]:
    return tuple(
        _step(f"toolu_{lane}_{number:02}", step, words)
        for number, step in enumerate(words["talk"][lane])
    )


def _step(call_id: str, step: Json, words: Json) -> Step:
    text = {"type": "text", "text": step["says"]}
    if "call" not in step:
        return Step((text,))
    arguments = {
        name: words["talk"]["search"] if value == "{search}" else value
        for name, value in step["input"].items()
    }
    call = {"type": "tool_use", "id": call_id, "name": step["call"], "input": arguments}
    return Step((text, call), _result(step["result"], words))


def _result(name: str, words: Json) -> str | None:
    results = words["results"]
    match name:
        case "agent":
            return None
        case "table":
            rows = (
                results["table_row"].format(
                    harbour=harbour,
                    number=1200 + 7 * number,
                    column=54 + number % 3 * 6,
                    rule=1 + number % 2,
                    datum=180 + 13 * number,
                )
                for number, harbour in enumerate(words["project"]["harbours"])
            )
            parts = (results["table_head"], *rows, results["table_tail"])
            return _numbered("\n".join(parts))
        case "clock":
            return _numbered(results["clock"])
    return str(results[name])


def _numbered(text: str) -> str:
    return "\n".join(f"{number:>5}  {line}" for number, line in enumerate(text.splitlines(), 1))
