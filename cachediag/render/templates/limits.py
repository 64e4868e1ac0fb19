"""A sandbox in which every template ends: in time, and in memory.

Jinja's own sandbox keeps a template from Python's insides. It does not keep it from counting to
10**15 in nested loops, nor from filling the memory, and a template comes with a model that somebody
else made. Here every turn of a loop and every call of a macro looks at the clock, the operators
that make much of little are bounded, and while a template runs the process may take so much more
memory and no more, where the system can hold it to that.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from jinja2 import TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["SECONDS", "LimitError", "LimitedEnvironment"]

SECONDS: Final = 20.0
"""How long one rendering may take."""

_MEMORY: Final = 2 << 30
"""Bytes that one rendering may take."""
_MOST_ITEMS: Final = 1 << 20
_MOST_CHARACTERS: Final = 1 << 28
_MOST_BITS: Final = 1 << 16
# A loop in a filter or a function looks at no clock, and these two have long ones.
_WITHOUT: Final = ("lipsum", "urlize")


class LimitError(TemplateError):
    """A template takes too long, or too much memory: it would with the next request, too."""


class LimitedEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox, with limits; rendering is to be done under `limited`."""

    intercepted_binops = frozenset({"*", "**", "+"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._until = float("inf")
        for name in _WITHOUT:
            self.globals.pop(name, None)
            self.filters.pop(name, None)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        again: list[nodes.For | nodes.Macro | nodes.CallBlock] = [*tree.find_all(nodes.For)]
        again += [*tree.find_all(nodes.Macro), *tree.find_all(nodes.CallBlock)]
        for node in again:
            tick = nodes.Call(nodes.EnvironmentAttribute("tick"), [], [], None, None)
            node.body.insert(0, nodes.ExprStmt(tick))
        return tree

    def tick(self) -> None:
        """Look at the clock.

        Raises:
            LimitError: the time is over.
        """
        if time.monotonic() > self._until:
            raise LimitError(f"it takes longer than {SECONDS:.0f} s")

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute what an operator gives, unless it is too much.

        Raises:
            TemplateError: it is.
        """
        if _size(operator, left, right) > 1:
            raise TemplateError(f"what it makes with `{operator}` is too large")
        return super().call_binop(context, operator, left, right)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Hold what is rendered in the block to the limits.

        Raises:
            LimitError: it takes too long, or too much memory.
            TemplateError: it calls itself too deeply.
        """
        self._until = time.monotonic() + SECONDS
        try:
            with _memory():
                yield
        except MemoryError:
            raise LimitError("it takes too much memory") from None
        except RecursionError:
            raise TemplateError("it calls itself too deeply") from None
        finally:
            self._until = float("inf")


def _size(operator: str, left: Any, right: Any) -> float:
    """How large a result would be, as a part of what is allowed; 0 where it cannot be large."""
    match operator, left, right:
        case ("*", int(), int()):
            return (left.bit_length() + right.bit_length()) / _MOST_BITS
        case ("**", int(), int()):
            return left.bit_length() * abs(right) / _MOST_BITS
        case ("*", str() | list() | tuple(), int()):
            return _times(left, right)
        case ("*", int(), str() | list() | tuple()):
            return _times(right, left)
        case ("+", str(), str()):
            return (len(left) + len(right)) / _MOST_CHARACTERS
        case ("+", list() | tuple(), list() | tuple()):
            return (len(left) + len(right)) / _MOST_ITEMS
    return 0


def _times(items: str | list[Any] | tuple[Any, ...], count: int) -> float:
    return len(items) * count / _MOST_ITEMS


@contextmanager
def _memory() -> Iterator[None]:
    """Let the process take no more than so much memory beside what it has."""
    try:
        import resource
        from pathlib import Path

        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        before = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError):
        # Not every system can, or says how much is held.
        yield
        return
    most = held + _MEMORY
    if before[0] != resource.RLIM_INFINITY:
        most = min(most, before[0])
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, before)
