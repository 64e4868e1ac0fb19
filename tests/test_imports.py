"""The folder list is the road: a package imports only from those to its left."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "cachediag"

LEFT_OF_ALL = ("model", "errors", "heads", "findings", "collecting", "extras", "words", "unseen")
ROAD = (
    *("protocol", "session", "capture", "render", "tokens", "compare", "analysis", "rules"),
    *("backends", "fix", "verify", "lint", "simulate", "batch", "report", "demo", "cli"),
)
HEAVY = ("mitmproxy", "deepdiff", "rich", "tiktoken")
MAX_LINES = 400

MODULES = sorted(PACKAGE.rglob("*.py"))
PLACED = [
    path for path in MODULES if path not in {PACKAGE / "__init__.py", PACKAGE / "__main__.py"}
]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Every name of this package that a module imports, wherever in it, with the line."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == PACKAGE.name:
                yield node.lineno, name


def station(name: str) -> str:
    """The part of the road a dotted name belongs to."""
    return name.split(".")[1]


def rank(name: str) -> int:
    if station(name) in LEFT_OF_ALL or station(name) == "__version__":
        return -1
    return ROAD.index(station(name))


def test_every_part_of_the_package_has_a_place_on_the_road() -> None:
    assert {station(name_of(path)) for path in PLACED} <= {*LEFT_OF_ALL, *ROAD}


@pytest.mark.parametrize("path", PLACED, ids=name_of)
def test_imports_point_to_the_left(path: Path) -> None:
    own = name_of(path)
    wrong = [
        f"line {line}: {name}"
        for line, name in imported(path)
        if station(name) != station(own) and rank(name) >= max(rank(own), 0)
    ]
    assert wrong == []


@pytest.mark.parametrize("path", [*MODULES, *PACKAGE.rglob("*.js")], ids=name_of)
def test_a_module_is_short(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= MAX_LINES


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_says_what_is_public(path: Path) -> None:
    stored = {
        node.id
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    private = path.stem.startswith("_") and not path.stem.startswith("__")
    assert private or "__all__" in stored


def test_the_command_line_starts_without_the_heavy_imports() -> None:
    code = (
        "import sys, cachediag.cli;"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules], sep=',')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
