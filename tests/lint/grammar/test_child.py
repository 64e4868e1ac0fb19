"""A child process that compiles: what it answers, and what becomes of a schema that it dies of."""

import os

import pytest

from cachediag.errors import UsageError
from cachediag.lint.grammar import child as grammar_child
from cachediag.lint.grammar.child import Child, Limits, Result

from .scripted import SECONDS

pytestmark = pytest.mark.usefixtures("scripted")


def tag(schema):
    return {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": schema}}


def do(what):
    return tag({"x-do": what})


@pytest.fixture
def child(scripted):
    with Child("scripted", "qwen3", Limits(seconds=1.5, memory=200 << 20)) as made:
        yield made


def test_what_is_compiled_is_timed_and_measured(child) -> None:
    found = child.compile(tag({"type": "null"}), texts=["null", "true"])
    assert found.outcome == "compiled"
    assert found.seconds == pytest.approx(SECONDS)
    assert found.size == len('{"type": "structural_tag", "format": ') + found.cache + 1
    assert found.fits == (True, False)
    assert found.warnings == ()
    assert child.load_seconds > found.seconds


def test_a_compiler_is_kept_by_its_name(child) -> None:
    first, again, other, new = (
        child.compile(tag({"type": "null"}), on=name) for name in ("kept", "kept", "else", None)
    )
    taken = [each.seconds for each in (first, again, other, new)]
    assert taken == pytest.approx([SECONDS, 0.0, SECONDS, SECONDS])


@pytest.mark.parametrize(
    ("what", "outcome", "message"),
    [
        ("sleep", "too slow", "not compiled within 1.5 s"),
        ("eat", "too large", "more than 200 MiB"),
        ("crash", "crashed", "the engine ended its process (SIGABRT)"),
    ],
)
def test_what_a_process_dies_of_is_named_and_the_next_is_compiled(
    child, what, outcome, message
) -> None:
    assert child.compile(do(what)) == Result(outcome, message=message)
    assert child._process is None
    assert child.compile(do("nothing")).outcome == "compiled"


def test_a_refusal_says_why_and_ends_nothing(child) -> None:
    child.compile(do("nothing"))
    pid = child._process.pid
    assert child.compile(do("reject")) == Result("rejected", message="not a schema that I know")
    assert child.compile(do("nothing")).outcome == "compiled"
    assert child._process.pid == pid


def test_warnings_are_told_once_without_their_places(child) -> None:
    assert child.compile(do("warn")).warnings == ("half of it is ignored",)
    assert child.compile(do("print")).warnings == ("said by the engine",)
    assert child.compile(do("nothing")).warnings == ()


def test_a_schema_nested_beyond_writing_is_refused(child) -> None:
    schema: dict[str, object] = {}
    for _ in range(100_000):
        schema = {"items": schema}
    found = child.compile(tag(schema))
    assert (found.outcome, found.message) == ("rejected", "nested too deeply to be written")


def test_an_engine_that_cannot_be_loaded(scripted, monkeypatch) -> None:
    monkeypatch.setenv("SCRIPTED_FAILS", "1")
    with (
        Child("scripted", "qwen3") as child,
        pytest.raises(UsageError, match=r"cannot be loaded: ImportError: libmissing.so") as told,
    ):
        child.compile(do("nothing"))
    assert "\n" not in told.value.message
    assert "cachediag[grammar]" in (told.value.remedy or "")


def test_no_process_is_left(scripted) -> None:
    with Child("scripted", "qwen3") as child:
        child.compile(do("nothing"))
        process = child._process
    assert process is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@pytest.mark.parametrize("statm", [True, False])
def test_the_memory_of_a_process(monkeypatch, statm) -> None:
    monkeypatch.setattr(grammar_child, "_STATM", statm and grammar_child._STATM)
    before = grammar_child._memory(os.getpid())
    held = b"x" * (64 << 20)
    assert 48 << 20 < grammar_child._memory(os.getpid()) - before < 96 << 20
    del held
    assert grammar_child._memory(2**22 + 1) == 0
