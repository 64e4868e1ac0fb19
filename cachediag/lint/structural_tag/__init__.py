"""The structural tag of a request: what an engine that decodes by xgrammar holds its answer to.

```python
tag = emit([Tool("read", schema)], SYNTAXES["hermes"])
```

Text outside the calls is free, and so is thinking, in which a call may be spoken of.
Source of the format: https://xgrammar.mlc.ai/docs/structural_tag/format_reference.html
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cachediag.errors import InputError, UsageError
from cachediag.lint.families import family
from cachediag.lint.structural_tag import deepseek, hermes, llama, qwen3_coder
from cachediag.lint.structural_tag.syntax import Syntax, Tool, tag
from cachediag.model import Json
from cachediag.render.models import chat_template, find_model

__all__ = ["SYNTAXES", "Syntax", "Tool", "emit", "syntax", "syntax_of", "syntax_of_template"]

SYNTAXES: Final[dict[str, Syntax]] = {
    syntax.name: syntax
    for syntax in (
        hermes.SYNTAX,
        qwen3_coder.SYNTAX,
        llama.SYNTAX,
        deepseek.V3,
        deepseek.V31,
    )
}

_THINK, _THINK_END = "<think>", "</think>"

# By what a chat template prints, the more particular first.
_MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("qwen3_coder", ("<function=", "<parameter=")),
    ("deepseek_v3", ("<｜tool▁sep｜>", "```json")),
    ("deepseek_v31", ("<｜tool▁sep｜>",)),
    ("hermes", ("<tool_call>", "arguments")),
    ("llama3_json", ('"parameters": ', "<|eot_id|>")),
    ("llama3_json", ('"parameters": ', "<|start_header_id|>")),
)


def emit(tools: Sequence[Tool], syntax: Syntax, *, thinking: bool = False) -> Json:
    """The structural tag for the tools of a request.

    Args:
        tools: what the model may call; without any, all text is free.
        syntax: how it writes a call.
        thinking: the prompt ends within the thinking, which the answer then ends.

    Returns:
        What is given to an engine as `response_format`, or to xgrammar.
    """
    calls = syntax.calls(tools) if tools else {"type": "any_text"}
    begin = "" if thinking else _THINK
    thought = tag(begin, {"type": "any_text"}, _THINK_END)
    # Always, where the prompt opened it: a call that is not held to its schema would else pass as
    # thinking that goes on.
    first = thought if thinking else {"type": "optional", "content": thought}
    return {
        "type": "structural_tag",
        "format": {"type": "sequence", "elements": [first, calls]},
    }


def syntax(name: str) -> Syntax:
    """The syntax of a name.

    Raises:
        UsageError: there is none.
    """
    if name in SYNTAXES:
        return SYNTAXES[name]
    raise UsageError(
        f"no syntax of tool calls is called {name!r}",
        remedy=f"Choose one of {', '.join(SYNTAXES)}.",
    )


def syntax_of(model: str) -> Syntax | None:
    """The syntax that a model writes its calls in.

    Args:
        model: its directory, the name of one on this machine, or any name of a known family.

    Returns:
        By its chat template where that is here, and else by its name; None where neither tells.
    """
    path = Path(model).expanduser()
    directory = path if path.is_dir() else _found(model)
    if directory is not None:
        try:
            template = chat_template(directory, tools=True)
        except (InputError, OSError):
            template = None
        if template is not None:
            return syntax_of_template(template)
    known = family(path.name)
    return SYNTAXES[known.syntax] if known is not None and known.syntax else None


def syntax_of_template(template: str) -> Syntax | None:
    """The syntax that a chat template prints calls in; None where it prints none, or another."""
    # Templates write JSON within their own strings, its quotes escaped.
    text = template.replace('\\"', '"')
    for name, marks in _MARKS:
        if all(mark in text for mark in marks):
            return SYNTAXES[name]
    return None


def _found(model: str) -> Path | None:
    try:
        return find_model(model)
    except UsageError:
        return None
