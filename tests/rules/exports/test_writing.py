"""Scripts in files."""

from pathlib import Path

import pytest

from cachediag.errors import UsageError
from cachediag.rules.exports import exporter_of, write_export
from cachediag.rules.rule import Rule, RuleSet

ON = Rule("on", "O01", "sort", "messages", "tools", by="name")
OFF = Rule("off", "O01", "sort", "chat", "tools", by="name", enabled=False)
ASGI = exporter_of("asgi")
SOURCE = Path("rules.toml")


def test_the_enabled_rules_are_written(tmp_path):
    target = tmp_path / "made.py"
    written = write_export(RuleSet((OFF, ON)), ASGI, SOURCE, target)
    assert written.rules == (ON,)
    assert target.read_text(encoding="utf-8") == ASGI.script(written)


def test_a_script_is_replaced_and_another_file_is_not(tmp_path):
    target = tmp_path / "made.py"
    write_export(RuleSet((ON,)), ASGI, SOURCE, target)
    write_export(RuleSet((ON,)), exporter_of("mitmproxy"), SOURCE, target)
    assert "mitmproxy" in target.read_text(encoding="utf-8")
    target.write_text("print('mine')")
    with pytest.raises(UsageError, match="exists already, and is no exported script"):
        write_export(RuleSet((ON,)), ASGI, SOURCE, target)
    assert target.read_text() == "print('mine')"


def test_without_an_enabled_rule_nothing_is_written(tmp_path):
    target = tmp_path / "made.py"
    with pytest.raises(UsageError, match="no rule is enabled"):
        write_export(RuleSet((OFF,)), ASGI, SOURCE, target)
    assert not target.exists()


@pytest.mark.parametrize("place", ["missing/made.py", "folder.py"])
def test_what_cannot_be_written_is_said(tmp_path, place):
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        write_export(RuleSet((ON,)), ASGI, SOURCE, tmp_path / place)
