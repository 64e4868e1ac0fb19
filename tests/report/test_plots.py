"""Plots: what is in the files, and that the same figures make the same file."""

import stat
import sys
from pathlib import Path

import pytest

from cachediag.errors import UsageError
from cachediag.report.plots import check, plot_policies, plot_sweep
from tests.report.test_simulate import FAR, compared
from tests.report.test_sweep import PAIRS
from tests.simulate.made import swept

PNG = b"\x89PNG\r\n\x1a\n"


def test_policies_are_drawn_as_the_suffix_says(tmp_path: Path) -> None:
    made = compared(*FAR)
    png, svg = tmp_path / "a.png", tmp_path / "a.SVG"
    plot_policies(made, png)
    plot_policies(made, svg)
    assert png.read_bytes().startswith(PNG)
    text = svg.read_text(encoding="utf-8")
    assert "<svg" in text
    for label in ("harbour", "sagemaker", "random", "hit rate", "p99", "distribution"):
        assert f"<!-- {label} -->" in text


def test_a_sweep_is_drawn_with_a_number_for_each_pair(tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    plot_sweep(swept(PAIRS), file)
    text = file.read_text(encoding="utf-8")
    for label in ("2.05", "2.15", "1.05", "1.02", "50", "PrefixLength (bytes)"):
        assert f"<!-- {label} -->" in text


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_the_same_figures_make_the_same_private_file(tmp_path: Path, name: str) -> None:
    files = [tmp_path / place / name for place in ("one", "other")]
    for file in files:
        file.parent.mkdir()
        plot_policies(compared(*FAR), file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    one, other = (file.read_bytes() for file in files)
    assert one == other
    assert b"dc:date" not in one


def test_a_name_is_no_formula_and_no_control_sequence(tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    plot_policies(compared(("x\x1b$\\frac$", 1.0, 0.1)), file)
    assert "\x1b" not in file.read_text(encoding="utf-8")


def test_another_suffix_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a plot is a PNG or an SVG"):
        check(tmp_path / "a.pdf")
    check(tmp_path / "a.png")


def test_matplotlib_is_asked_for_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError) as raised:
        check(tmp_path / "a.png")
    assert str(raised.value).startswith("--plot: needs matplotlib, which is not installed")
    assert raised.value.remedy == "Install it: pip install 'cachediag[plot]'"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "a.png"
    with pytest.raises(UsageError) as raised:
        plot_policies(compared(*FAR), file)
    assert raised.value.where == str(file)
