"""O01 to O03: what comes in ever other orders is brought into one."""

import re
from collections.abc import Iterator
from dataclasses import replace

from cachediag.rules.making.proposals.proposed import Material, Proposed, evidence
from cachediag.rules.making.proposals.texts import Marked, marked, proposed
from cachediag.rules.making.values import Found
from cachediag.rules.rule import Rule

__all__ = ["sorted_keys", "sorted_lines", "sorted_tools"]

_TOOL = re.compile(r"(?:tools|functions)\[[^\]]+\]")
_SCHEMAS = {
    "messages": "input_schema",
    "chat": "function.parameters",
    "responses": "parameters",
}
_CALLS = {"messages": "messages[*].content[*].input"}
"""Where arguments stand as JSON; in the other protocols they are texts."""
_BULLET = re.compile(r"[ \t]*(?:[-*•]|\d+[.)])[ \t]")


def sorted_tools(material: Material) -> Iterator[Proposed]:
    """O01: the tools by name."""
    for found in material.found:
        yield Proposed(
            rule=Rule(
                "sort-tools",
                found.code,
                "sort",
                found.spot.protocol,
                "tools",
                by="name",
                evidence=evidence([found]),
            ),
            effect="The model is told of the same tools, sorted by name.",
            answers=(found,),
        )


def sorted_keys(material: Material) -> Iterator[Proposed]:
    """O02: the keys of tools' schemas; those of arguments only if a person wants it."""
    for protocol in dict.fromkeys(found.spot.protocol for found in material.found):
        own = [found for found in material.found if found.spot.protocol == protocol]
        yield from _schemas(protocol, tuple(found for found in own if found.spot.is_tool))
        yield from _arguments(protocol, tuple(f for f in own if f.spot.kind == "tool_use"))


def _schemas(protocol: str, own: tuple[Found, ...]) -> Iterator[Proposed]:
    if not own:
        return
    paths = {_schema_path(found) for found in own}
    one = _TOOL.sub("tools[*]", min(paths), count=1)
    together = len(paths) > 1 and {_TOOL.sub("tools[*]", path, count=1) for path in paths} == {one}
    for path in [one] if together else sorted(paths):
        answered = own if together else tuple(f for f in own if _schema_path(f) == path)
        yield Proposed(
            rule=Rule(
                "sort-keys",
                "O02",
                "sort",
                protocol,
                path,
                by="keys",
                evidence=evidence(answered),
            ),
            effect="The model is told the same, with the keys of objects sorted.",
            answers=answered,
        )


def _schema_path(found: Found) -> str:
    """The schema in which the keys stand, or the whole tool where they are its own."""
    tool = _TOOL.match(found.spot.path)
    if tool is None:
        return found.spot.path
    schema = f"{tool[0]}.{_SCHEMAS[found.spot.protocol]}"
    return schema if found.spot.path.startswith(schema) else tool[0]


def _arguments(protocol: str, own: tuple[Found, ...]) -> Iterator[Proposed]:
    if not own or protocol not in _CALLS:
        return
    yield Proposed(
        rule=Rule(
            "sort-arguments",
            "O02",
            "sort",
            protocol,
            _CALLS[protocol],
            by="keys",
            enabled=False,
            arguments=True,
            evidence=evidence(own),
        ),
        effect="The arguments that the model generated come back with their keys sorted.",
        answers=own,
        caution="An engine that keeps what it generated holds the model's own order, and sorted "
        "keys would no longer match it",
    )


def sorted_lines(material: Material) -> Iterator[Proposed]:
    """O03: the lines of a list, or the items of a line."""
    for found in material.found:
        for one in marked(found):
            by_lines = any("\n" in value for value in one.values)
            if by_lines and _has_long_items(one):
                continue
            rule = replace(
                Rule("sort-lines", found.code, "sort", found.spot.protocol, found.spot.path),
                id="sort-lines" if by_lines else "sort-items",
                by="lines" if by_lines else "items",
            )
            what = "lines" if by_lines else "items"
            yield from proposed(found, rule, one, f"The model is told the same {what}, sorted.")


def _has_long_items(one: Marked) -> bool:
    """Whether items take several lines, which sorting would tear apart."""
    rows = [line for value in one.values for line in value.splitlines() if line.strip()]
    bullets = [_BULLET.match(row) is not None for row in rows]
    return any(bullets) and not all(bullets)
