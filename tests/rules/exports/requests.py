"""Made-up requests and rules, for engines that must come to the same."""

import json
from typing import Any

from hypothesis import strategies as st

from cachediag.rules.rule import Rule

__all__ = ["HEADER", "RULES", "Spelling", "bodies", "plain_requests", "rule_lists"]

HEADER = r"\Ax-anthropic-billing-header: [^\n]{1,300};\z"

_TEXTS = st.sampled_from(
    [
        "x-anthropic-billing-header: cc_version=9.9.9.a1; cc_entrypoint=cli; cch=0a1b2;",
        "x-anthropic-billing-header: cc_version=9.9.9.b2; cc_entrypoint=cli; cch=ffff0;",
        "x-anthropic-billing-header: cch=1; and words behind it",
        "You bind books.\nToday: 2026-11-29\nStatus: clean\n\nBe brief.",
        "You bind books.\nToday: 2026-11-30\nStatus: M 糸.txt\n\nBe brief.",
        'Today: é\\\\n\nToday: 𝕏🙂\nToday: \t"quoted" \\ /',
        "<system-reminder>\nToday: 2026-12-01\n</system-reminder>",
        " \u2003<note>1. silk\n2. bands\n10. 糸</note>",
        "Agents: zinc, Apple, \uffee, 𝕏, apple; ",
        "- b\n- a\n٣. three\n1) one\n",
        "Explain: x-anthropic-billing-header: cch=1;",
        "\ud800 alone\nToday: \udc00\n",
        "\n\nToday: now\n",
        "Today:",
        "",
    ]
)
_NAMES = st.sampled_from(["Bash", "Read", "édit", "𝕏", "\uffee", "read", ""])
_LEAVES: st.SearchStrategy[Any] = st.sampled_from([None, True, 0, 1.5, "a", "Today: x", [], {}])
_KEYS = st.sampled_from(["b", "a", "ab", "\uffee", "𝕏", "text", "name"])
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=8,
)
_TEXT_BLOCKS = st.builds(lambda text: {"type": "text", "text": text}, _TEXTS)
_INPUT_BLOCKS = st.builds(lambda text: {"type": "input_text", "text": text}, _TEXTS)
_OTHER_BLOCKS = st.one_of(
    st.builds(
        lambda name, value: {"type": "tool_use", "id": "t1", "name": name, "input": value},
        _NAMES,
        st.dictionaries(_KEYS, _VALUES, max_size=3),
    ),
    st.builds(
        lambda text: {"type": "tool_result", "tool_use_id": "t1", "content": text},
        _TEXTS | st.lists(_TEXT_BLOCKS, max_size=2),
    ),
)
_BLOCKS = st.lists(_TEXT_BLOCKS | _INPUT_BLOCKS | _OTHER_BLOCKS, max_size=4)
_ROLES = st.sampled_from(["user", "user", "assistant", "system", "developer", "tool"])
_MESSAGES = st.lists(
    st.fixed_dictionaries({"role": _ROLES, "content": _TEXTS | _BLOCKS})
    | st.sampled_from([{"role": "user"}, {"type": "function_call_output", "output": "Today: x"}]),
    max_size=5,
)
_SCHEMAS = st.dictionaries(_KEYS, _VALUES, max_size=4)
_TOOLS = st.lists(
    st.builds(
        lambda name, text, schema: {"name": name, "description": text, "input_schema": schema},
        _NAMES,
        _TEXTS,
        _SCHEMAS,
    )
    | st.builds(
        lambda name, text, schema: {
            "type": "function",
            "function": {"name": name, "description": text, "parameters": schema},
        },
        _NAMES,
        _TEXTS,
        _SCHEMAS,
    ),
    max_size=4,
)
plain_requests = st.fixed_dictionaries(
    {"model": st.sampled_from(["made-up", "other"])},
    optional={
        "messages": _MESSAGES,
        "input": _TEXTS | _MESSAGES,
        "system": _TEXTS | st.lists(_TEXT_BLOCKS, max_size=4),
        "instructions": _TEXTS,
        "tools": _TOOLS,
        "max_tokens": st.just(100),
    },
)
"""Requests of all protocols in one, decoded."""


class Spelling:
    """JSON as a client may spell it: escapes, white space, keys that come twice, odd numbers."""

    def __init__(self, draw: st.DrawFn, *, odd: bool) -> None:
        self._draw = draw
        self._odd = odd
        self._comma, self._colon = draw(
            st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")])
        )

    def of(self, value: Any) -> str:
        if isinstance(value, dict):
            members = [f"{self.of(key)}{self._colon}{self.of(each)}" for key, each in value.items()]
            if self._odd and members and self._draw(st.integers(0, 9)) == 0:
                members.append(self._draw(st.sampled_from(members)))
            return "{" + self._comma.join(members) + "}"
        if isinstance(value, list):
            return "[ " + self._comma.join(map(self.of, value)) + "]"
        if self._odd and isinstance(value, float):
            return self._draw(st.sampled_from(["1.50", "15e-1", "1.5"]))
        # A lone surrogate has no UTF-8 that another decoder would take.
        escaped = not str(value).isascii() and self._draw(st.booleans())
        escaped = escaped or any("\ud800" <= one <= "\udfff" for one in str(value))
        text = json.dumps(value, ensure_ascii=escaped)
        return text.replace("/", "\\/") if self._odd and self._draw(st.booleans()) else text


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Requests as they are sent."""
    spelled = Spelling(draw, odd=True).of(draw(plain_requests))
    return f" {spelled}\n".encode()


def _rules() -> list[Rule]:
    made: list[Rule] = []

    def add(action: str, path: str, **more: Any) -> None:
        for protocol in ("messages", "chat", "responses"):
            made.append(Rule(f"r{len(made)}", "V01", action, protocol, path, **more))

    for path in ("system[0]", "system", "system[*]", "messages[*].content[0]"):
        add("drop-block", path, pattern=HEADER)
    add("replace", "system[*].text", pattern=r"^Today: (.*)$", value='a "day" 𝕏')
    add("replace", "system[0].text", pattern=r"\A.{0,40}cch=([0-9a-f]{1,5});", value="0")
    add("replace", "tools[name=Bash].description", pattern="^Status: ([^\n]*)", value="")
    add("replace", "messages[*].content[*].text", pattern="^Today: (.*)", value="x", messages=True)
    add("replace", "messages[*].content", pattern="^Today: (.*)", value="x", messages=True)
    add("replace", "input[*].content[*].text", pattern="^Today: (.*)", value="x", messages=True)
    add("replace", "instructions", pattern=r"\A(?:You|Agents)( bind|: z)", value="\n")
    add("pin", "system[*].text", pattern="^Status: (.*)")
    add("pin", "system", pattern="^Today: (.*)$")
    add("pin", "instructions", pattern=None)
    add("move-to-end", "system[*].text", pattern="^Today: .*\n?")
    add("move-to-end", "system[1]")
    add("move-to-end", "system[*]", pattern=r"\AToday: .*\z")
    add("pin", "tools[name=Bash].description", pattern="^Status: (.*)")
    add("move-to-end", "system", pattern="^Today:[^\n]*\n{0,2}")
    add("move-to-end", "instructions", pattern="^Today:[^\n]*\n{0,2}")
    add("move-to-end", "messages[0].content", pattern="^Today: .*\n", messages=True)
    add("sort", "tools", by="name")
    add("sort", "tools[*].input_schema", by="keys")
    add("sort", "tools[*].function.parameters", by="keys")
    add("sort", "messages[*].content[*].input", by="keys", arguments=True)
    add("sort", "system[*].text", by="lines")
    add("sort", "system[*].text", by="items", pattern="^Agents: (.*)")
    add("sort", "tools[*].description", by="lines", pattern="^- (?:[^`]{0,40})")
    add("keep-inline", "messages[*]")
    add("keep-inline", "input[*]")
    return made


RULES = _rules()
"""Each action at all kinds of places, for each protocol."""

rule_lists = st.lists(st.sampled_from(RULES), min_size=1, max_size=6, unique_by=lambda r: r.id)
