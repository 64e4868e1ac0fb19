"""`cachediag rules export`."""

from pathlib import Path

import pytest

from cachediag.rules.exports import EXPORTERS, exporter_of
from tests.cli.running import ran

RULES = r"""
version = 1

[[rule]]
id = "header"
finding = "V01"
action = "drop-block"
protocol = "messages"
path = "system[0]"
pattern = '\Ax-anthropic-billing-header: [ -~]{1,200};\z'

[[rule]]
id = "tools"
finding = "O01"
action = "sort"
protocol = "messages"
path = "tools"
by = "name"
enabled = false
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    place = tmp_path / "rules.toml"
    place.write_text(RULES)
    return place


@pytest.mark.parametrize("name", EXPORTERS)
def test_a_script_is_written_and_how_to_install_it_is_said(name, rules, tmp_path, capsys):
    target = tmp_path / ("made.js" if name == "claude-code-router" else "made.py")
    done = ran(capsys, "rules", "export", rules, "--to", name, "-o", target)
    assert (done.code, done.out) == (0, "")
    first, note, *install = done.err.splitlines()
    assert first == f"1 rule in {target}"
    assert note == "note   1 rule not enabled, left out"
    steps = exporter_of(name).install(target)
    assert install == [f"next   {steps[0]}", *(f"       {step}" for step in steps[1:])]
    script = target.read_text(encoding="utf-8")
    assert "header: drop-block system[0]" in script
    assert "sort tools" not in script


def test_an_unknown_name_is_refused_with_those_that_are_known(rules, tmp_path, capsys):
    done = ran(capsys, "rules", "export", rules, "--to", "nginx", "-o", tmp_path / "made.py")
    assert done.code == 2
    assert done.err.splitlines() == [
        "cachediag: 'nginx' is nothing that rules can be exported to",
        f"           Choose one of {', '.join(EXPORTERS)}.",
    ]


def test_the_help_names_every_exporter(capsys):
    done = ran(capsys, "rules", "export", "--help")
    assert [name for name in EXPORTERS if name not in done.out] == []
