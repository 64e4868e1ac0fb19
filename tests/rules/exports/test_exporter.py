"""What a script says in its head."""

from pathlib import Path

import pytest

from cachediag import __version__
from cachediag.errors import UsageError
from cachediag.rules.exports import EXPORTERS, Export, exporter_of
from cachediag.rules.exports.exporter import MADE_BY, head
from cachediag.rules.rule import Rule

RULE = Rule("header", "V01", "drop-block", "messages", "system[0]")


@pytest.mark.parametrize("exporter", EXPORTERS.values(), ids=EXPORTERS)
def test_it_says_what_it_is_and_how_it_is_installed(exporter):
    export = Export((RULE,), Path("some/rules.toml"), Path("some/made.py"))
    text = head(exporter, export, "//")
    lines = text.splitlines()
    assert exporter.title in lines[0]
    assert f"// {MADE_BY} {__version__} from rules.toml." in text
    command = f"cachediag rules export rules.toml --to {exporter.name} -o made.py"
    assert f"//     {command}" in lines
    assert "//     header: drop-block system[0]" in lines
    assert [f"//     {line}".rstrip() for line in exporter.install(Path("made.py"))] == lines[
        lines.index("// To install:") + 1 : -2
    ]
    assert lines[-1] == "// SPDX-License-Identifier: Apache-2.0"
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\x0b", "\x85"])
def test_no_name_ends_the_comment(end):
    rule = Rule(f"a{end}b", "V01", "sort", "chat", f"tools[name=x{end}y]")
    export = Export((rule,), Path(f"r{end}s"), Path(f"t{end}u"))
    text = head(exporter_of("mitmproxy"), export, "#")
    assert all(line.startswith("#") for line in text.splitlines())


def test_the_exporters_have_the_names_they_are_asked_by():
    assert {name: exporter.name for name, exporter in EXPORTERS.items()} == {
        name: name for name in ("claude-code-router", "litellm", "asgi", "mitmproxy")
    }
    with pytest.raises(UsageError, match="'nginx' is nothing that rules can be exported to"):
        exporter_of("nginx")
