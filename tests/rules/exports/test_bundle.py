"""One file out of several modules."""

import ast
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachediag.rules.exports import statements
from cachediag.rules.exports.bundle import bundle

SCRIPTS = ("asgi", "litellm", "mitmproxy")

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write modules of this package: `write(one="…")` makes `cachediag.one`."""
    monkeypatch.setattr(statements, "_ROOT", tmp_path)

    def write(**modules: str) -> None:
        for name, source in modules.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")

    return write


def run(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "made"}
    exec(text, names)
    return names


def test_what_is_used_is_carried_in_the_order_of_use(write):
    write(
        made_a='''
            """About a."""
            import re
            import json
            from typing import Any

            __all__ = ["used"]

            # Why it is there.
            _PATTERN = re.compile("a")  # noqa: S000 - not here
            """Below it."""

            _UNUSED = json.dumps(1)

            def used(text: str) -> Any:
                return _PATTERN.sub("é", text)
            ''',
        made_b="""
            from cachediag.made_a import used

            ANSWER = used("banana")
            """,
    )
    assert bundle("cachediag.made_b", {}) == textwrap.dedent(
        '''\
        import re
        from typing import Any


        # cachediag.made_a


        # Why it is there.
        _PATTERN = re.compile("a")
        """Below it."""

        def used(text: str) -> Any:
            return _PATTERN.sub("é", text)


        # cachediag.made_b


        ANSWER = used("banana")
        '''
    )


def test_a_name_of_two_modules_is_told_apart(write):
    write(
        made_a="""
            é, _limit = "é", 1

            class Thing:
                size: "Other | None" = None
                _limit = 5

                def limit(self) -> int:
                    return _limit

            class Other: ...
            """.replace("_limit = 5\n", "length = 5\n"),
        made_b="""
            from cachediag import made_a
            from cachediag.made_a import Thing

            _limit = 2

            def other(given: "Thing") -> int:
                é = "é"; return _limit + given.limit() + made_a.Thing().limit()

            class Other:
                parent: "Other"
            """,
    )
    text = bundle("cachediag.made_b", {})
    assert run(text)["other"](run(text)["made_a_Thing"]()) == 4
    assert 'given: "made_a_Thing"' in text
    assert 'size: "made_a_Other | None"' in text
    assert 'parent: "made_b_Other"' in text
    assert "_made_b_limit + given.limit()" in text


def test_a_local_variable_is_not_taken_for_what_is_called_by_its_module(write):
    write(
        made_a="def items(): return [1, 2]",
        made_b="""
            from cachediag import made_a

            def first() -> int:
                items = made_a.items()
                return items[0]
            """,
    )
    assert run(bundle("cachediag.made_b", {}))["first"]() == 1


def test_a_statement_is_replaced(write):
    write(
        made_a="""
            # The rules.
            RULES: tuple[int, ...] = (
                1,
            )

            LAST = RULES[-1]
            """
    )
    text = bundle("cachediag.made_a", {"RULES": "RULES = (7, 8)\n"})
    assert run(text)["LAST"] == 8
    assert "# The rules.\nRULES = (7, 8)\n" in text


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("A = 1\nprint(A)", "line 2: what defines nothing is lost"),
        ("if True:\n    A = 1", "line 1: what defines nothing is lost"),
        (
            "from cachediag.made_b import gone\n\nA = gone",
            "gone is not defined in cachediag.made_b",
        ),
        ("from cachediag.made_b import X\n\nA = X\n_y = 1\ndef f(_y): return _y", "two things"),
        ("from cachediag.made_b import X\nimport json as re\nA = X, re", "re means something else"),
    ],
)
def test_what_cannot_be_carried_is_refused(write, source, what):
    write(made_a=source, made_b="import re\n_x = 1\n_y = 2\nX = re, _y, _x\n")
    with pytest.raises(ValueError, match=what):
        bundle("cachediag.made_a", {})


def test_a_module_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"there is no module cachediag\.nothing"):
        bundle("cachediag.nothing", {})


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_needs_the_standard_library_and_its_carrier(script):
    tree = ast.parse(bundle(f"cachediag.rules.exports.scripts.{script}", {}))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {
        name.partition(".")[0]
        for node in imports
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
        )
    }
    assert names - sys.stdlib_module_names == {script} - {"asgi"}


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_name_in_a_script_means_something(script, tmp_path):
    place = tmp_path / "made.py"
    place.write_text(bundle(f"cachediag.rules.exports.scripts.{script}", {}), encoding="utf-8")
    names = ast.parse(place.read_text(encoding="utf-8"))
    compile(names, str(place), "exec")
    tops = [
        name
        for node in names.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for name in [node.name]
    ]
    assert len(tops) == len(set(tops))


def test_a_script_runs_where_this_package_is_not(tmp_path):
    place = tmp_path / "made.py"
    place.write_text(bundle("cachediag.rules.exports.scripts.asgi", {}), encoding="utf-8")
    code = (
        "import sys; sys.path[:0] = [sys.argv[1]]\n"
        "sys.modules['cachediag'] = sys.modules['msgspec'] = None\n"
        "import made; print(made.applied(b'{}', 'messages'))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "b'{}'\n"
