"""A module of this package as the statements that it is made of, and what they refer to."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

__all__ = ["Module", "Reference", "Statement"]

_PACKAGE = "cachediag"
_ROOT = Path(__file__).parents[2]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)


class Reference(NamedTuple):
    """A place in a module's text that names something at the top of a module."""

    line: int
    """From 0."""
    start: int
    """Offset of its first byte in the line."""
    end: int
    module: str
    name: str
    by_module: bool = False
    """Spelled as `module.name`."""


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement at the top of a module, with the comments above it and the text below it."""

    names: frozenset[str]
    """What it defines."""
    first: int
    """Its first line, from 0, comments included."""
    start: int
    """The line on which it begins itself."""
    end: int
    """The line behind its last."""
    references: tuple[Reference, ...]
    """What it refers to, its own names included."""
    uses: frozenset[str]
    """Every name in it, those of other packages too."""
    bound: frozenset[str]
    """Its functions' arguments and its classes' attributes."""


class Module:
    """A module's text, its statements, and what it takes from elsewhere.

    Raises:
        ValueError: there is no such module, or a statement at its top does something else than to
            define names.
    """

    def __init__(self, name: str) -> None:
        file = _file(name)
        if file is None:
            raise ValueError(f"there is no module {name}")
        source = file.read_bytes()
        self.name = name
        self.lines = source.splitlines(keepends=True)
        self.others: dict[str, tuple[str, str]] = {}
        """What it imports from other packages: name here → where from, and what."""
        self._body = ast.parse(source).body
        self._modules: dict[str, str] = {}
        self._known = {each: (name, each) for node in self._body for each in _defined(node)}
        for node in self._body:
            if isinstance(node, _IMPORTS):
                self._import(node)
        self.statements = tuple(self._statements())

    @cached_property
    def needs(self) -> frozenset[str]:
        """The modules of this package that it imports from."""
        origins = frozenset(module for module, _ in self._known.values())
        return (origins | frozenset(self._modules.values())) - {self.name}

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        origin = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            here = alias.asname or alias.name
            shown = f"{alias.name} as {here}" if alias.asname else alias.name
            if origin.partition(".")[0] != _PACKAGE:
                self.others[here.partition(".")[0]] = origin, shown
            elif _file(f"{origin}.{alias.name}"):
                self._modules[here] = f"{origin}.{alias.name}"
            else:
                self._known[here] = origin, alias.name

    def _statements(self) -> Iterator[Statement]:
        end = 0
        for number, node in enumerate(self._body):
            first, end = end, node.end_lineno or 0
            if isinstance(node, _IMPORTS) or _is_text(node):
                continue
            following = self._body[number + 1 :]
            if following and _is_text(following[0]):
                end = following[0].end_lineno or end
            names = _defined(node)
            if not names:
                raise ValueError(f"{self.name}, line {node.lineno}: what defines nothing is lost")
            if "__all__" not in names:
                yield self._statement(node, names, first, end)

    def _statement(self, node: ast.stmt, names: frozenset[str], first: int, end: int) -> Statement:
        inner = list(ast.walk(node))
        return Statement(
            names=names,
            first=first,
            start=node.lineno - 1,
            end=end,
            references=tuple(self._references(node, inner)),
            uses=frozenset(each.id for each in inner if isinstance(each, ast.Name)),
            bound=frozenset(_bound(inner)),
        )

    def _references(self, node: ast.stmt, inner: Sequence[ast.AST]) -> Iterator[Reference]:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            line, name = node.lineno - 1, node.name.encode()
            start = self.lines[line].index(name, node.col_offset + len("def "))
            yield Reference(line, start, start + len(name), self.name, node.name)
        for each in inner:
            yield from self._reference(each)
            if isinstance(each, ast.arg | ast.AnnAssign) and each.annotation is not None:
                yield from self._quoted(each.annotation)
            if isinstance(each, _FUNCTIONS) and each.returns is not None:
                yield from self._quoted(each.returns)

    def _reference(self, node: ast.AST, line: int = 0, column: int = 0) -> Iterator[Reference]:
        if isinstance(node, ast.Name) and node.id in self._known:
            found, spelled, by_module = self._known[node.id], node.id, False
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in self._modules
        ):
            found = self._modules[node.value.id], node.attr
            spelled, by_module = f"{node.value.id}.{node.attr}", True
        else:
            return
        start = column + node.col_offset
        end = start + len(spelled.encode())
        yield Reference(line + node.lineno - 1, start, end, *found, by_module)

    def _quoted(self, annotation: ast.expr) -> Iterator[Reference]:
        """What is referred to in an annotation's quoted parts."""
        for node in ast.walk(annotation):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for each in ast.walk(ast.parse(node.value, mode="eval")):
                    yield from self._reference(each, node.lineno - 1, node.col_offset + 1)


def _defined(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return frozenset({node.name})
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        inner = (each for target in targets for each in ast.walk(target))
        return frozenset(
            each.id
            for each in inner
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        )
    return frozenset()


def _bound(inner: Sequence[ast.AST]) -> Iterator[str]:
    for each in inner:
        if isinstance(each, ast.arg):
            yield each.arg
        elif isinstance(each, ast.ClassDef):
            for node in each.body:
                yield from _defined(node)


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a bare string: a docstring, or one below an assignment."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _file(name: str) -> Path | None:
    """Where a module of this package stands; nothing is imported to find out."""
    place = _ROOT.joinpath(*name.split(".")[1:])
    files = place.with_suffix(".py"), place / "__init__.py"
    return next((file for file in files if file.is_file()), None)
