import sys
from pathlib import Path

import pytest

from peers.environment import FailedError, run
from peers.tool import Command

PYTHON = Path(sys.executable)


def _python(code: str, **more: object) -> Command:
    return Command([PYTHON.name, "-c", code], **more)  # type: ignore[arg-type]


def test_what_a_tool_prints_and_how_long_it_takes(tmp_path: Path) -> None:
    ran = run(PYTHON, _python("print('found')"), tmp_path)
    assert ran.output == "found\n"
    assert ran.seconds > 0


def test_what_a_tool_writes(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    code = "open('report.json', 'w').write('[]'); print('said')"
    assert run(PYTHON, _python(code, output=report), tmp_path).output == "[]"


def test_an_exit_code_that_tells_no_findings_is_an_error(tmp_path: Path) -> None:
    code = "import sys; print('no such file', file=sys.stderr); sys.exit(2)"
    with pytest.raises(FailedError, match="exit code 2: no such file"):
        run(PYTHON, _python(code), tmp_path)
    assert run(PYTHON, _python(code, fine=frozenset({2})), tmp_path).output == ""


def test_a_tool_sees_nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "made up")
    code = "import os; print(os.environ['HOME'], 'SOME_API_KEY' in os.environ, os.getcwd())"
    said = run(PYTHON, _python(code), tmp_path).output.split()
    assert said == [str(tmp_path), "False", str(tmp_path)]
