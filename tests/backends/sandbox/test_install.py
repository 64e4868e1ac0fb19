import platform
import sys
from pathlib import Path

import pytest

from cachediag.backends.sandbox import Sandbox, copy_of, install, python, sandbox_root, site
from cachediag.backends.sandbox.engines import requirements
from cachediag.errors import CachediagError, UpstreamError, UsageError

FAKE = """\
#!{python}
import sys
from pathlib import Path

words = sys.argv[1:]
with open({record!r}, "a") as record:
    record.write(" ".join(words) + "\\n")
if words[0] == "venv":
    (Path(words[-1]) / "bin").mkdir(parents=True)
elif {fails!r} in words[-1]:
    print("Using an interpreter")
    print("error: nothing fits")
    print("  cause: there is no network")
    print("hint: none", file=sys.stderr)
    sys.exit(2)
elif "--target" in words:
    (Path(words[words.index("--target") + 1]) / "vllm_mlx").mkdir()
"""


@pytest.fixture
def sandbox(tmp_path, monkeypatch):
    def make(fails="never"):
        fake = tmp_path / "uv"
        fake.write_text(
            FAKE.format(python=sys.executable, record=str(tmp_path / "record"), fails=fails)
        )
        fake.chmod(0o700)
        monkeypatch.setattr(install, "uv", lambda: str(fake))
        told: list[str] = []
        return Sandbox(tmp_path / "root", tell=told.append), told

    return make


def commands(tmp_path: Path) -> list[str]:
    return (tmp_path / "record").read_text().splitlines()


def test_the_environment_and_a_release_are_installed_once(sandbox, tmp_path):
    made, told = sandbox()
    interpreter = python(made)
    assert interpreter == install.environment(made) / "bin" / "python"
    place = site(made, "vllm-mlx", "0.3.0")
    assert (place / "vllm_mlx").is_dir()
    assert [python(made), site(made, "vllm-mlx", "0.3.0")] == [interpreter, place]
    venv, needed, release = commands(tmp_path)
    assert venv.startswith(f"venv --seed --python {sys.executable}")
    assert needed.endswith(" ".join(requirements()))
    assert " --no-deps --target " in release
    assert release.endswith(" vllm-mlx==0.3.0")
    assert told == [
        "installing mlx, mlx-lm and what the server needs, once, 400 MB",
        "installing vllm-mlx 0.3.0",
    ]
    assert {path.name for path in made.root.iterdir()} == {
        *(interpreter.parents[1].name, "releases", "lock", "install.log"),
    }


def test_the_environments_own_release_needs_no_other(sandbox, tmp_path):
    made, _ = sandbox()
    assert list(site(made, "mlx-lm", "0.31.3").iterdir()) == []
    assert len(commands(tmp_path)) == 2


def test_a_copy_leaves_the_original_alone(sandbox, tmp_path):
    made, _ = sandbox()
    copied = copy_of(made, "vllm-mlx", "0.3.0", tmp_path / "copy")
    (copied / "vllm_mlx" / "new.py").write_text("x")
    original = site(made, "vllm-mlx", "0.3.0")
    assert copied == tmp_path / "copy"
    assert list((original / "vllm_mlx").iterdir()) == []


def test_what_the_installer_says_is_told_and_nothing_half_made_stays(sandbox):
    made, _ = sandbox(fails="vllm-mlx")
    with pytest.raises(UpstreamError) as caught:
        site(made, "vllm-mlx", "0.3.0")
    assert str(caught.value) == ("the sandbox cannot be installed: cause: there is no network")
    log = made.root / "install.log"
    assert str(log) in (caught.value.remedy or "")
    assert "hint: none" in log.read_text()
    assert not (made.root / "releases" / "vllm-mlx-0.3.0").exists()
    assert not list(made.root.glob("making-*"))


def test_a_venv_that_cannot_be_made(sandbox, monkeypatch):
    made, _ = sandbox()
    monkeypatch.setattr(install, "uv", lambda: "/nowhere/uv")
    with pytest.raises(UpstreamError, match="No such file") as caught:
        python(made)
    assert "python3-venv" in (caught.value.remedy or "")


def test_without_room_nothing_is_begun(sandbox, monkeypatch):
    made, _ = sandbox()
    monkeypatch.setattr(install, "_NEEDED_BYTES", 10**18)
    with pytest.raises(CachediagError, match="MB are free, and the sandbox needs"):
        python(made)


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CachediagError, match="cannot be made") as caught:
        python(Sandbox(tmp_path / "file" / "root"))
    assert "CACHEDIAG_HOME" in (caught.value.remedy or "")


@pytest.mark.parametrize("release", ["new", "", "../x", "1;rm", "0.3.0 "])
def test_what_is_no_release(release, tmp_path):
    with pytest.raises(UsageError, match="is no release of vllm-mlx"):
        site(Sandbox(tmp_path), "vllm-mlx", release)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("system", "machine", "first"),
    [
        ("Linux", "x86_64", "mlx[cpu]==0.32.4"),
        ("Linux", "aarch64", "mlx[cpu]==0.32.4"),
        ("Darwin", "arm64", "mlx==0.32.4"),
        ("Darwin", "x86_64", None),
        ("Windows", "AMD64", None),
    ],
)
def test_what_a_machine_needs(system, machine, first, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    if first:
        assert requirements()[0] == first
    else:
        with pytest.raises(UsageError, match=f"MLX does not run on {system} {machine}"):
            requirements()


def test_the_sandbox_is_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    assert sandbox_root() == tmp_path / "sandbox"
    monkeypatch.delenv("CACHEDIAG_HOME")
    assert sandbox_root().parts[-2:] == ("cachediag", "sandbox")
    assert Path.home() in sandbox_root().parents
