"""Answers in each syntax: those that its structural tag must accept, and those it must not."""

from cachediag.lint.structural_tag import Tool

__all__ = ["ACCEPTED", "READ", "REJECTED", "TOOLS", "WRITE"]

READ = Tool(
    "read_file",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
WRITE = Tool(
    "write",
    {
        "type": "object",
        "properties": {"mode": {"enum": ["append", "replace"]}},
        "required": ["mode"],
        "additionalProperties": False,
    },
)
TOOLS = (READ, WRITE)

_HERMES = '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>'
_CODER = "<tool_call>\n<function=%s>\n%s\n</function>\n</tool_call>"
_PARAMETER = "<parameter=%s>\n%s\n</parameter>"
_LLAMA = '{"name": "%s", "parameters": %s}'
_V3 = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>%s\n```json\n%s\n```<｜tool▁call▁end｜>"
_V31 = "<｜tool▁call▁begin｜>%s<｜tool▁sep｜>%s<｜tool▁call▁end｜>"
_LIST = "<｜tool▁calls▁begin｜>%s<｜tool▁calls▁end｜>"

_RIGHT = ("read_file", '{"path": "a.py", "lines": 3}')
_OTHER = ("write", '{"mode": "append"}')
_UNKNOWN = ("delete", "{}")
_WRONG_TYPE = ("read_file", '{"path": 3}')
_MISSING = ("read_file", '{"lines": 3}')
_MORE = ("write", '{"mode": "append", "force": true}')
_NO_CHOICE = ("write", '{"mode": "truncate"}')
_WRONG = (_UNKNOWN, _WRONG_TYPE, _MISSING, _MORE, _NO_CHOICE)


def _coder(name: str, **parameters: str) -> str:
    return _CODER % (name, "\n".join(_PARAMETER % each for each in parameters.items()))


_CODER_RIGHT = _coder("read_file", path="a.py", lines="3")
_CODER_OTHER = _coder("write", mode="append")
_CODER_WRONG = (
    _coder("delete", path="a.py"),
    _coder("read_file", lines="3"),
    _coder("read_file", path="a.py", lines="three"),
    _coder("write", mode="append", force="true"),
    _coder("write", mode="truncate"),
)

_CALLS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "hermes": (_HERMES % _RIGHT, _HERMES % _OTHER, tuple(_HERMES % each for each in _WRONG)),
    "qwen3_coder": (_CODER_RIGHT, _CODER_OTHER, _CODER_WRONG),
    "llama3_json": (_LLAMA % _RIGHT, _LLAMA % _OTHER, tuple(_LLAMA % each for each in _WRONG)),
    "deepseek_v3": (
        _LIST % (_V3 % _RIGHT),
        _LIST % f"{_V3 % _OTHER}\n{_V3 % _RIGHT}",
        (*(_LIST % (_V3 % each) for each in _WRONG), _LIST % (_V31 % _RIGHT)),
    ),
    "deepseek_v31": (
        _LIST % (_V31 % _RIGHT),
        _LIST % (_V31 % _OTHER + _V31 % _RIGHT),
        (*(_LIST % (_V31 % each) for each in _WRONG), _LIST % (_V3 % _RIGHT)),
    ),
}

ACCEPTED: dict[str, tuple[str, ...]] = {
    name: (
        "No call at all, only words: {} and <b>.",
        right,
        f"First this.\n{right}",
        f"{right}\n{other}",
        f"<think>\nShall I?\n</think>\n\nYes.\n{other}",
        # What is thought of is no call.
        f"<think>\nNot {wrong[0]}, no.\n</think>\n\n{right}",
    )
    for name, (right, other, wrong) in _CALLS.items()
}

REJECTED: dict[str, tuple[str, ...]] = {
    name: (
        *wrong,
        f"Words.\n{wrong[1]}",
        f"{right}\n{wrong[2]}",
        f"<think>\nGood.\n</think>\n\n{wrong[3]}",
        right[:-1],
    )
    for name, (right, _, wrong) in _CALLS.items()
}
