"""Patching and taking the patch out, on made-up installations."""

import stat
import sys

import pytest

from cachediag.errors import CachediagError
from cachediag.fix.patch import Options, apply, plan_patch, plan_unpatch, state_of
from tests.fix.patch.sites import ENGINE, KNOWN, NEWER, installed, sums


def patched(installation, options=None):
    plan = plan_patch(state_of(installation, KNOWN), options or Options())
    apply(plan)
    return plan


@pytest.mark.parametrize(("content", "version"), [(ENGINE, "1.0.0"), (NEWER, "2.0.0")])
def test_there_and_back(tmp_path, content, version):
    installation = installed(tmp_path, content, version)
    before = sums(tmp_path)
    patched(installation)
    assert sums(tmp_path) != before
    assert installation.backup.read_bytes() == content
    apply(plan_unpatch(state_of(installation, KNOWN)))
    assert sums(tmp_path) == before
    assert not installation.payload.exists()


def test_what_python_compiled_goes_too(tmp_path):
    installation = installed(tmp_path)
    patched(installation)
    compiled = installation.payload / "__pycache__" / "store.cpython-312.pyc"
    compiled.parent.mkdir()
    compiled.write_bytes(b"")
    apply(plan_unpatch(state_of(installation, KNOWN)))
    assert not installation.payload.exists()


def test_a_second_patch_changes_nothing(tmp_path):
    installation = installed(tmp_path)
    assert patched(installation).changes
    before = sums(tmp_path)
    assert patched(installation).changes == ()
    assert sums(tmp_path) == before


def test_other_options_change_the_hook_alone(tmp_path):
    installation = installed(tmp_path)
    patched(installation)
    plan = patched(installation, Options(2, "system", 10**9))
    assert [change.path for change in plan.changes] == [installation.engine]
    assert b'slots=2, scope="system", max_bytes=1000000000' in installation.engine.read_bytes()
    apply(plan_unpatch(state_of(installation, KNOWN)))
    assert installation.engine.read_bytes() == ENGINE


def test_the_original_comes_back_without_its_copy(tmp_path):
    installation = installed(tmp_path)
    before = sums(tmp_path)
    patched(installation)
    installation.backup.unlink()
    apply(plan_unpatch(state_of(installation, KNOWN)))
    assert sums(tmp_path) == before


def test_files_of_an_older_patch_are_replaced(tmp_path):
    installation = installed(tmp_path)
    patched(installation)
    wanted = sums(tmp_path)
    (installation.payload / "store.py").write_text("# older\n")
    (installation.payload / "gone.py").write_text("# no longer needed\n")
    assert state_of(installation, KNOWN).kind == "outdated"
    patched(installation)
    assert sums(tmp_path) == wanted


def test_a_hard_link_elsewhere_stays_as_it_is(tmp_path):
    installation = installed(tmp_path / "site")
    cached = tmp_path / "cached.py"
    cached.hardlink_to(installation.engine)
    patched(installation)
    assert cached.read_bytes() == ENGINE


def test_the_mode_is_kept(tmp_path):
    installation = installed(tmp_path)
    installation.engine.chmod(0o640)
    patched(installation)
    for path in (installation.engine, installation.backup, installation.payload / "store.py"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_that_changed_meanwhile_is_left(tmp_path):
    installation = installed(tmp_path)
    plan = plan_patch(state_of(installation, KNOWN), Options())
    installation.engine.write_bytes(NEWER)
    with pytest.raises(CachediagError, match="changed meanwhile"):
        apply(plan)
    assert installation.engine.read_bytes() == NEWER


def test_what_cannot_be_written_is_named(tmp_path, monkeypatch):
    installation = installed(tmp_path)
    plan = plan_patch(state_of(installation, KNOWN), Options())

    def refused(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refused)
    with pytest.raises(CachediagError, match="Permission denied") as caught:
        apply(plan)
    assert caught.value.where == str(installation.backup)
    assert caught.value.remedy == "Run this as the user who installed vllm-mlx."


def test_a_hook_that_cannot_load_leaves_the_engine(tmp_path, monkeypatch, caplog):
    """What stands in the file is run as it is, with a module of ours that fails."""
    installation = installed(tmp_path)
    for name in ("__init__.py", "engine/__init__.py"):
        (installation.package / name).write_text("")
    patched(installation)
    (installation.payload / "__init__.py").write_text("raise ValueError('broken')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        import vllm_mlx.engine.simple as engine  # type: ignore[import-not-found]

        assert engine.SimpleEngine.__name__ == "SimpleEngine"
        assert "could not be loaded" in caplog.text
    finally:
        for name in [name for name in sys.modules if name.startswith("vllm_mlx")]:
            del sys.modules[name]
