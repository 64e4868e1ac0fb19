"""Scripts in Python."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cachediag.errors import UsageError
from cachediag.rules.exports import Export, exporter_of
from cachediag.rules.rule import Evidence, Rule

SEEN = Evidence(requests=3, tokens_saved=9, seen=("a secret value",))
RULE = Rule(
    'he said """\\',
    "V01",
    "replace",
    "messages",
    "system[*].text",
    pattern=r"^It's \"(\d)\"",
    value="\u2028'\ud800",
    messages=True,
    evidence=SEEN,
)


@pytest.mark.parametrize("name", ["asgi", "mitmproxy"])
def test_a_script_has_the_rules_and_not_what_was_seen(name, tmp_path):
    script = exporter_of(name).script(Export((RULE,), Path("r.toml"), Path("made.py")))
    assert "a secret value" not in script
    place = tmp_path / "made_script.py"
    place.write_text(script, encoding="utf-8")
    # As LiteLLM and mitmproxy load scripts: nothing is registered.
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert place.stem not in sys.modules
    assert [repr(rule) for rule in module.RULES] == [repr(replace(RULE, evidence=Evidence()))]
    assert callable(module.CachediagRules)


def test_a_script_that_is_imported_stays_registered(tmp_path, monkeypatch):
    script = exporter_of("asgi").script(Export((RULE,), Path("r.toml"), Path("made.py")))
    (tmp_path / "made_script.py").write_text(script, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("made_script")
    assert sys.modules.pop("made_script") is module


@pytest.mark.parametrize("target", ["my-rules.py", "rules.js", "rules", "1.py"])
@pytest.mark.parametrize("name", ["asgi", "litellm", "mitmproxy"])
def test_a_name_that_python_cannot_import_is_refused(name, target):
    with pytest.raises(UsageError, match="is no name for a Python module") as caught:
        exporter_of(name).script(Export((RULE,), Path("r.toml"), Path("some") / target))
    assert caught.value.remedy == "Give a name such as -o cachediag_rules.py"
