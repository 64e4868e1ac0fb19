"""G11: instructions that show tool calls in tags which the model's template does not use."""

import re
from collections.abc import Iterable, Iterator

from cachediag.lint.checks.subject import finding
from cachediag.lint.families import family
from cachediag.lint.schemas import Instruction
from cachediag.model import Finding

__all__ = ["check"]

_TAGS = {
    "<tool_call>": re.compile(r"<tool_call>"),
    "<function=…>": re.compile(r"<function=[\w<{$]"),
    "<function_calls>": re.compile(r"<(?:antml:)?function_calls>"),
    "<function_call>": re.compile(r"<function_call>"),
    "<tool_use>": re.compile(r"<tool_use>"),
    "[TOOL_CALLS]": re.compile(r"\[TOOL_CALLS\]"),
    "<|python_tag|>": re.compile(r"<\|python_tag\|>"),
    "<｜tool▁calls▁begin｜>": re.compile(r"<｜tool▁calls▁begin｜>"),
    "<|tool_calls_section_begin|>": re.compile(r"<\|tool_calls_section_begin\|>"),
}


def check(instructions: Iterable[Instruction], model: str | None) -> Iterator[tuple[int, Finding]]:
    """Find texts of the system prompt that show a foreign tag and none of the model's own.

    Args:
        instructions: the texts of the system prompts.
        model: the model that was named; otherwise what each request asks for.
    """
    for each in instructions:
        known = family(model or each.model or "")
        if known is None:
            continue
        shown = [tag for tag, pattern in _TAGS.items() if pattern.search(each.text)]
        if shown and not set(shown) & set(known.tags):
            used = f"the template of {model or each.model} uses {known.tags[0]}"
            made = finding(
                "G11",
                each.path,
                f"Shows tool calls in {shown[0]}, while {used}: the server then finds no call in"
                " the reply.",
                shown=shown[0],
                confidence="suspected",
            )
            yield each.request, made
