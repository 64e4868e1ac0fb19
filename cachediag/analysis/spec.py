"""Specifications on the command line: `NAME[:OPTION=VALUE[,OPTION=VALUE]]`.

What is named is built by a function whose keyword-only parameters are its options. A parameter's
annotation says what its value is: `int` a whole number, `float` a number, `bool` true or false,
`Literal` one of some words.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

from cachediag.errors import UsageError

__all__ = ["entry", "options"]

_Entry = TypeVar("_Entry")


def entry(table: Mapping[str, _Entry], kind: str, name: str) -> _Entry:
    """What a table has under a name.

    Args:
        table: what there is, by its name.
        kind: what it is, for the error.
        name: as on the command line.

    Raises:
        UsageError: nothing has that name.
    """
    if name not in table:
        raise UsageError(
            f"no {kind} is called {name!r}", remedy=f"Choose one of: {', '.join(table)}."
        )
    return table[name]


def options(name: str, build: Callable[..., object], text: str) -> dict[str, int | float | str]:
    """Keyword arguments, read from what stands after the colon.

    Args:
        name: what is built, for the errors.
        build: builds it.
        text: `OPTION=VALUE[,OPTION=VALUE]`, or nothing.

    Raises:
        UsageError: there is no such option, or its value is of another kind.
    """
    known = {
        each.name: each.annotation
        for each in inspect.signature(build).parameters.values()
        if each.kind is inspect.Parameter.KEYWORD_ONLY
    }
    return dict(_option(name, known, part) for part in text.split(",") if part)


def _option(name: str, known: dict[str, Any], text: str) -> tuple[str, int | float | str]:
    key, _, value = text.partition("=")
    if key not in known:
        remedy = f"It has: {', '.join(known)}." if known else "It has no options."
        raise UsageError(f"{name} has no option {key!r}", remedy=remedy)
    return key, _value(f"{key} of {name}", known[key], value)


def _value(what: str, kind: Any, text: str) -> int | float | str:
    if kind is bool or get_origin(kind) is Literal:
        words = ("false", "true") if kind is bool else get_args(kind)
        if text not in words:
            raise UsageError(f"{what} must be {' or '.join(words)}, not {text!r}")
        return text == "true" if kind is bool else text
    number = _number(text) if kind is float else int(text) if text.isdecimal() else None
    if number is None:
        raise UsageError(f"{what} must be a number, not {text!r}")
    return number


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) or number < 0 else number
