"""What is shipped: the wheel holds the code and all that the code reads at run time."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

import cachediag

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """The files of a wheel built from the tree, by their path in it."""
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = target.iterdir()
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def metadata(wheel: Mapping[str, bytes]) -> Message:
    return message_from_bytes(wheel[f"cachediag-{cachediag.__version__}.dist-info/METADATA"])


def test_the_version_has_three_parts() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", cachediag.__version__)


def test_the_change_log_names_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)[0] == cachediag.__version__


def test_the_wheel_holds_every_file_of_the_package(wheel: Mapping[str, bytes]) -> None:
    paths = [path for path in (ROOT / "cachediag").rglob("*") if path.is_file()]
    expected = {p.relative_to(ROOT).as_posix() for p in paths if "__pycache__" not in p.parts}
    assert {"cachediag/py.typed", "cachediag/findings/V01.md", "cachediag/cli/diff.py"} <= expected
    assert expected <= wheel.keys()


def test_the_wheel_holds_the_addons(wheel: Mapping[str, bytes]) -> None:
    addons = {path.name: path.read_bytes() for path in (ROOT / "addons").glob("*.py")}
    assert "capture.py" in addons
    assert {name: wheel[f"cachediag/addons/{name}"] for name in addons} == addons


def test_the_wheel_holds_the_schema_of_rule_files(wheel: Mapping[str, bytes]) -> None:
    schema = (ROOT / "docs" / "rules.schema.json").read_bytes()
    assert wheel["cachediag/rules/rules.schema.json"] == schema


def test_the_wheel_holds_nothing_else(wheel: Mapping[str, bytes]) -> None:
    info = f"cachediag-{cachediag.__version__}.dist-info"
    assert {name.split("/")[0] for name in wheel} == {"cachediag", info}
    assert not [name for name in wheel if "__pycache__" in name or "/tests/" in name]


def test_the_wheel_declares_licence_command_and_python(
    wheel: Mapping[str, bytes], metadata: Message
) -> None:
    info = f"cachediag-{cachediag.__version__}.dist-info"
    assert metadata["Version"] == cachediag.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert wheel[f"{info}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert b"cachediag = cachediag.cli:main" in wheel[f"{info}/entry_points.txt"]


def test_pip_is_kept_from_a_mitmproxy_that_cannot_be_built(metadata: Message) -> None:
    requirements = metadata.get_all("Requires-Dist") or []
    assert "mitmproxy>=11.0.2" in requirements
