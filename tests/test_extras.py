import tomllib
from pathlib import Path
from typing import get_args

import pytest

from cachediag.errors import UsageError
from cachediag.extras import Extra, has, install, need


def test_a_package_that_is_there_is_not_refused() -> None:
    assert has("json")
    need("json", "fleet", "--workers 2")


def test_one_that_is_not_is_refused_with_the_command_that_brings_it() -> None:
    assert not has("nowhere_to_be_found")
    with pytest.raises(UsageError, match="needs nowhere_to_be_found") as raised:
        need("nowhere_to_be_found", "plot", "--plot")
    assert raised.value.where == "--plot"
    assert raised.value.remedy == "Install it: pip install 'cachediag[plot]'"
    assert install("mlx") == "pip install 'cachediag[mlx]'"


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert set(project["project"]["optional-dependencies"]) == set(get_args(Extra))
