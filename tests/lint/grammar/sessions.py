"""Sessions of made-up tools."""

from typing import Any

from cachediag.lint.schemas import Asked, Collected, Schema

__all__ = ["collected", "schema"]


def schema(name: str, content: Any = None, **changed: Any) -> Schema:
    """A tool's schema; the tool does nothing unless `content` tells the scripted engine to."""
    fields: dict[str, Any] = {
        "request": 0,
        "path": f"tools.{name}.input_schema",
        "home": f"tools.{name}",
        "name": name,
        "kind": "tool",
        "strict": False,
        "schema": {"title": name} if content is None else content,
        "description": None,
        "endpoint": "messages",
        "model": "m",
        "raw": b"{}",
        "agent": None,
    }
    return Schema(**fields | changed)


def collected(schemas: list[Schema], *requests: tuple[int, ...]) -> Collected:
    """A session whose requests hold the tools of these numbers."""
    asked = [
        Asked(
            request=number,
            endpoint="messages",
            model="m",
            tools=tools,
            response=None,
            names=tuple((schemas[each].home, schemas[each].name or "") for each in tools),
        )
        for number, tools in enumerate(requests)
    ]
    return Collected(schemas=tuple(schemas), requests=tuple(asked), instructions=(), problems={})
