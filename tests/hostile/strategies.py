"""JSON values and request bodies of every shape, as a broken or hostile client may send them."""

import json

from hypothesis import strategies as st

Json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=8)
    | st.sampled_from(["text", "user", "assistant", "tool", "system", "tool_use", "tool_result"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)

_BLOCK_FIELDS = (
    "type", "text", "id", "name", "input", "content", "tool_use_id", "thinking", "source",
    "cache_control", "arguments", "output", "function",
)  # fmt: skip
_KINDS = st.sampled_from(
    ["text", "tool_use", "tool_result", "image", "document", "thinking", "input_text", "reasoning"]
)
_ROLES = st.sampled_from(["user", "assistant", "system", "tool", "developer"])
_BLOCK = (
    st.fixed_dictionaries({"type": _KINDS}, optional=dict.fromkeys(_BLOCK_FIELDS[1:], Json))
    | st.fixed_dictionaries({}, optional=dict.fromkeys(_BLOCK_FIELDS, Json))
    | Json
)
_CALL = st.fixed_dictionaries(
    {},
    optional={
        "id": Json,
        "function": Json
        | st.fixed_dictionaries({"name": Json, "arguments": Json | st.builds(json.dumps, Json)}),
    },
)
_MESSAGE = (
    st.fixed_dictionaries(
        {"role": _ROLES | Json, "content": st.lists(_BLOCK, max_size=3) | st.text() | Json},
        optional={
            "tool_calls": st.lists(_CALL | Json, max_size=2) | Json,
            "tool_call_id": Json,
            "name": Json,
            "reasoning_content": Json,
            "type": Json,
        },
    )
    | Json
)
_TOOL = (
    st.fixed_dictionaries(
        {"name": st.text(max_size=3) | Json},
        optional={
            "description": Json,
            "input_schema": Json,
            "type": Json,
            "function": Json | st.fixed_dictionaries({"name": Json, "parameters": Json}),
        },
    )
    | Json
)
_BODY = st.fixed_dictionaries(
    {},
    optional={
        "model": Json,
        "tools": st.lists(_TOOL, max_size=3) | Json,
        "functions": st.lists(_TOOL, max_size=2) | Json,
        "system": st.lists(_BLOCK, max_size=2) | st.text() | Json,
        "instructions": st.text() | Json,
        "messages": st.lists(_MESSAGE, max_size=4) | Json,
        "input": st.lists(_MESSAGE, max_size=4) | Json,
        "max_tokens": Json,
        "metadata": Json,
        "tool_choice": Json,
        "chat_template_kwargs": Json,
        "stream": Json,
    },
)


def _written(value: object, escapes: bool, spaced: bool) -> bytes:
    text = json.dumps(value, ensure_ascii=escapes, separators=None if spaced else (",", ":"))
    return text.encode("utf-8", "surrogatepass")


BODIES = st.builds(_written, _BODY, st.booleans(), st.booleans())
"""Raw bodies that are JSON; most of them are no request that a server would take."""
