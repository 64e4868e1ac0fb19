"""The command reference in the documentation is what the commands say."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_committed_reference_is_not_stale() -> None:
    reference = runpy.run_path(str(DOCS / "generate_cli.py"))["reference"]
    committed = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert committed == reference(), "write it anew: nox -s docs"


def test_every_command_has_a_section_with_its_options() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    sections = text.split("\n## ")
    (diff,) = [section for section in sections if section.startswith("cachediag diff\n")]
    assert "- `--pair A:B`: " in diff
    assert "- `--format text|json`: " in diff
    assert {"record", "import", "sessions", "show", "demo", "explain"} <= {
        section.splitlines()[0].removeprefix("cachediag ") for section in sections
    }
