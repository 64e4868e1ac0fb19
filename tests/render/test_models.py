"""Models are found where they were downloaded to."""

import json
import os
from pathlib import Path

import pytest

from cachediag.errors import InputError, UsageError
from cachediag.render.models import chat_template, find_model, model_config


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def model(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "tokenizer.json").write_text("{}", encoding="utf-8")
    return directory


def hub(root: Path, organisation: str, name: str, commit: str) -> Path:
    return model(root / f"models--{organisation}--{name}" / "snapshots" / commit)


@pytest.mark.parametrize(
    ("variable", "directory"),
    [
        (None, ".cache/huggingface/hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
        ("HF_HOME", "hub"),
        ("HF_HUB_CACHE", "."),
    ],
)
def test_in_the_hugging_face_cache(
    variable: str | None, directory: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv(variable, str(home / "elsewhere"))
        home = home / "elsewhere"
    expected = hub(home / directory, "mlx-community", "Qwen3-8B-4bit", "abc")
    assert find_model("mlx-community/Qwen3-8B-4bit") == expected
    assert find_model("Qwen3-8B-4bit") == expected
    assert find_model("other/Qwen3-8B-4bit") is None
    assert find_model("Qwen3-8B") is None


@pytest.mark.parametrize("directory", [".lmstudio/models", ".cache/lm-studio/models"])
def test_in_lm_studios_folder(directory: str, home: Path) -> None:
    expected = model(home / directory / "org" / "Name")
    assert find_model("org/Name") == expected
    assert find_model("Name") == expected


def test_the_snapshot_that_main_names_is_taken(home: Path) -> None:
    root = home / ".cache/huggingface/hub"
    named = hub(root, "org", "Name", "aaa")
    hub(root, "org", "Name", "zzz")
    refs = root / "models--org--Name" / "refs"
    refs.mkdir()
    (refs / "main").write_text("aaa\n", encoding="utf-8")
    assert find_model("org/Name") == named


def test_else_the_newest_that_has_a_tokenizer(home: Path) -> None:
    root = home / ".cache/huggingface/hub"
    older, newer = hub(root, "org", "Name", "zzz"), hub(root, "org", "Name", "aaa")
    bare = root / "models--org--Name" / "snapshots" / "mmm"
    bare.mkdir()
    for seconds, directory in enumerate((older, newer, bare)):
        os.utime(directory, (1_000_000 + seconds,) * 2)
    assert find_model("org/Name") == newer


def test_one_name_of_two_organisations_is_asked_about(home: Path) -> None:
    root = home / ".cache/huggingface/hub"
    for organisation in ("one", "two"):
        hub(root, organisation, "Name", "abc")
    with pytest.raises(UsageError, match="several models are called Name") as caught:
        find_model("Name")
    assert caught.value.remedy == "Choose one of: one/Name, two/Name."


@pytest.mark.parametrize("name", ["*", "org/*", "N?me", "[N]ame", "../org/Name", ""])
def test_names_are_no_patterns(name: str, home: Path) -> None:
    hub(home / ".cache/huggingface/hub", "org", "Name", "abc")
    assert find_model(name) is None


TEMPLATES = [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]


@pytest.mark.parametrize(
    ("config", "plain", "with_tools"),
    [
        ({}, None, None),
        ({"chat_template": "C"}, "C", "C"),
        ({"chat_template": TEMPLATES}, "D", "T"),
        ({"chat_template": TEMPLATES[:1]}, "D", "D"),
    ],
)
def test_templates_in_the_configuration(
    config: dict, plain: str | None, with_tools: str | None, home: Path
) -> None:
    (home / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert chat_template(home) == plain
    assert chat_template(home, tools=True) == with_tools


def test_a_template_in_its_own_file_comes_first(home: Path) -> None:
    (home / "tokenizer_config.json").write_text('{"chat_template": "C"}', encoding="utf-8")
    (home / "chat_template.jinja").write_text("{{ own }}\n", encoding="utf-8")
    assert chat_template(home) == chat_template(home, tools=True) == "{{ own }}\n"
    further = home / "additional_chat_templates"
    further.mkdir()
    (further / "tool_use.jinja").write_text("{{ tools }}", encoding="utf-8")
    assert chat_template(home) == "{{ own }}\n"
    assert chat_template(home, tools=True) == "{{ tools }}"


@pytest.mark.parametrize(
    ("content", "message"), [("{", "JSON ends too early"), ("[]", "not a JSON object")]
)
def test_a_configuration_that_is_none(content: str, message: str, home: Path) -> None:
    (home / "tokenizer_config.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        model_config(home)
    assert caught.value.where == str(home / "tokenizer_config.json")
