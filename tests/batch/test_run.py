"""Where the work is done, and that one process needs no Dask."""

import subprocess
import sys
from pathlib import Path

import pytest

from cachediag import extras
from cachediag.batch import run
from cachediag.batch.model import Counted, Failed, Named, Outcome, Settings
from cachediag.batch.run import analyse_all, default_workers
from cachediag.errors import UsageError
from tests.batch.material import stored


def test_one_process_tells_each_outcome_in_order(tmp_path: Path) -> None:
    sessions = stored(tmp_path, 3)
    sessions.insert(1, Named("gone", str(tmp_path / "gone")))
    told: list[Outcome] = []
    found = list(analyse_all(sessions, Settings(), told=told.append))
    assert [each.label for each in found] == ["0", "gone", "1", "2"]
    assert told == found
    assert [type(each) for each in found] == [Counted, Failed, Counted, Counted]


def test_one_session_needs_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "need", lambda *_: pytest.fail("Dask is asked for"))
    (found,) = analyse_all(stored(tmp_path, 1), Settings(), workers=8)
    assert isinstance(found, Counted)


def test_without_dask_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "has", lambda _: False)
    monkeypatch.setattr(run, "has", lambda _: False)
    sessions = stored(tmp_path, 2)
    assert default_workers() == 1
    for asked, where in (
        ({"workers": 2}, "--workers 2"),
        ({"cluster": "tcp://127.0.0.1:9"}, "--dask tcp://127.0.0.1:9"),
    ):
        with pytest.raises(UsageError, match="needs distributed") as raised:
            list(analyse_all(sessions, Settings(), **asked))
        assert raised.value.where == where
        assert raised.value.remedy == "Install it: pip install 'cachediag[fleet]'"


def test_one_process_imports_nothing_of_the_extra(tmp_path: Path) -> None:
    (named, other) = stored(tmp_path, 2)
    code = (
        "import sys\n"
        "from cachediag.batch.model import Settings\n"
        "from cachediag.batch.naming import find\n"
        "from cachediag.batch.run import analyse_all\n"
        "for name in ('dask', 'distributed', 'fsspec', 'pyarrow'): sys.modules[name] = None\n"
        "found = find(sys.argv[1:]).sessions\n"
        "print([each.label for each in analyse_all(found, Settings())] == sys.argv[1:])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, named.address, other.address],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"
