import io
from pathlib import Path

from rich.console import Console

from cachediag.backends.installed import Item
from cachediag.backends.kinds import Recognised
from cachediag.backends.sandbox import State
from cachediag.report.doctor import DoctorReport, document

HERE = Item("mitmproxy", "package", "needed", "12.1", True, "recording", "pip install mitmproxy")
GONE = Item("deepdiff", "package", "needed", None, False, "comparing", "pip install deepdiff")
CLAUDE = Item("claude", "tokenizer", "optional", None, True, "counting", "", exact=False)
EMPTY = State(Path("/s"), True, False, {"vllm-mlx": ()}, ())
MADE = State(Path("/s"), True, True, {"vllm-mlx": ("0.3.0",), "mlx-lm": ()}, ("qwen2",))
FOUND = Recognised(
    kind="ollama", version="0.12.6", sure="estimate", evidence="\x1b[31m/", engine="ollama"
)


def shown(report: DoctorReport) -> list[str]:
    console = Console(file=io.StringIO(), width=80)
    console.print(report)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_what_is_missing_comes_first():
    assert shown(DoctorReport((HERE, GONE), EMPTY)) == [
        "Missing: deepdiff",
        "",
        "packages",
        "  mitmproxy    12.1",
        "  ✗ deepdiff   missing, for comparing",
        "               pip install deepdiff",
        "",
        "sandbox   /s",
        "  ✗ not made yet   cachediag demo --live",
    ]


def test_a_sandbox_and_a_backend():
    lines = shown(DoctorReport((CLAUDE,), MADE, "http://127.0.0.1:11434", FOUND))
    assert lines == [
        "All that recording and analysis need is here.",
        "",
        "tokenizers",
        "  claude       estimate",
        "",
        "sandbox   /s",
        "  environment",
        "  vllm-mlx: 0.3.0",
        "  mlx-lm: no release yet",
        "  models: qwen2",
        "",
        "backend   http://127.0.0.1:11434",
        "  probably ollama 0.12.6   by \\e[31m/",
        "  counted by --profile generic   --engine ollama",
        "",
        "next   cachediag record --upstream http://127.0.0.1:11434 -- claude",
    ]
    assert shown(DoctorReport((CLAUDE,), MADE))[-3:] == [
        "",
        "next   cachediag demo               what it does, in seconds",
        "       cachediag record -- claude   record your own",
    ]


def test_a_machine_without_mlx_and_a_backend_that_is_not_known():
    elsewhere = State(Path("/s"), False, False, {}, ())
    report = DoctorReport((HERE,), elsewhere, "http://127.0.0.1:9")
    lines = shown(report)
    assert "  MLX runs on Linux and on Apple silicon only" in lines
    assert "  not recognised, or it does not answer" in lines
    assert not any(line.startswith("next") for line in lines)
    assert document(report)["sandbox"]["mend"] is None
    assert document(report)["backend"]["kind"] is None


def test_the_document():
    told = document(DoctorReport((HERE, GONE), EMPTY))
    assert [item["mend"] for item in told["items"]] == [None, "pip install deepdiff"]
    assert told["sandbox"]["mend"] == "cachediag demo --live"
    assert document(DoctorReport((), MADE))["sandbox"]["releases"] == ["vllm-mlx@0.3.0"]
