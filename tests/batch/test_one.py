"""One session in a worker: what comes back, and what is said of one that cannot be read."""

import pickle
from pathlib import Path

import pytest

from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.choice import choose
from cachediag.batch import one
from cachediag.batch.model import Counted, Failed, Named, Outcome, Settings
from cachediag.batch.one import analyse_one
from cachediag.model import Exchange
from cachediag.session import Session
from tests.batch.material import exchanges, folder_of_bodies, store

MLX = Settings(profile="vllm-mlx@0.2.6", model="qwen2.5", prefill_rate=100.0)


def of(path: Path, settings: Settings = MLX) -> Outcome:
    return analyse_one(Named("it", str(path)), settings)


def test_the_counts_are_those_of_the_session_alone(tmp_path: Path) -> None:
    sent = exchanges(4)
    choice = choose("messages", profile_spec="vllm-mlx@0.2.6", model_spec="qwen2.5")
    alone = summarise(analyse(sent, sent.__getitem__, choice), choice)
    counted = of(store(tmp_path / "a.cachediag", 4))
    assert isinstance(counted, Counted)
    assert (counted.label, counted.requests, counted.uncounted) == ("it", 4, 0)
    assert counted.prompt_tokens == alone.prompt_tokens > 0
    assert counted.avoidable_tokens == alone.avoidable_tokens > 0
    assert counted.reused_tokens == alone.reused_tokens
    assert counted.causes == alone.causes
    assert counted.body_bytes == sum(len(each.request) for each in sent)
    assert counted.avoidable_seconds == alone.avoidable_tokens / 100
    assert (counted.profile, counted.model, counted.engine) == (
        alone.profile,
        alone.model,
        alone.engine,
    )
    assert counted.exact == alone.exact
    assert counted.rows is None


def test_a_folder_of_bodies_is_one_session(tmp_path: Path) -> None:
    counted = of(folder_of_bodies(tmp_path / "bodies", 4))
    assert isinstance(counted, Counted)
    assert counted.requests == 4


def test_what_went_on_is_analysed_unless_what_came_in_is_asked_for(tmp_path: Path) -> None:
    first, second, *_ = exchanges(1)
    path = tmp_path / "a.cachediag"
    with Session.create(path) as made:
        made.append(first)
        made.append(Exchange(second.info, second.request, outgoing=first.request))
    sent, came = of(path), of(path, Settings(profile="vllm-mlx@0.2.6", incoming=True))
    assert isinstance(sent, Counted)
    assert isinstance(came, Counted)
    assert sent.prompt_tokens < came.prompt_tokens


def test_why_a_session_cannot_be_read(tmp_path: Path) -> None:
    whole = store(tmp_path / "a.cachediag").read_bytes()
    cut = tmp_path / "cut.cachediag"
    cut.write_bytes(whole[:5_000])
    failed = of(cut)
    assert isinstance(failed, Failed)
    assert (failed.label, failed.reason) == ("it", "the session is damaged or cut off")
    assert failed.remedy is not None
    gone = of(tmp_path / "gone.cachediag")
    assert isinstance(gone, Failed)
    assert gone.reason == "cannot be read (No such file or directory)"


def test_a_damaged_file_in_a_folder_is_named(tmp_path: Path) -> None:
    folder = folder_of_bodies(tmp_path / "bodies")
    (folder / "9.json").write_bytes(b'{"messages": [')
    failed = of(folder)
    assert isinstance(failed, Failed)
    assert failed.reason.startswith("9.json: ")
    assert str(tmp_path) not in failed.reason


def test_a_mistake_of_our_own_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("text of the session")

    monkeypatch.setattr(one, "choice_for", mistaken)
    failed = of(store(tmp_path / "a.cachediag"))
    assert isinstance(failed, Failed)
    assert failed.reason.startswith("a mistake in cachediag: ZeroDivisionError in test_one.py, ")
    assert "text" not in failed.reason


def test_what_travels_is_small_and_holds_no_text(tmp_path: Path) -> None:
    settings = Settings(profile="vllm-mlx@0.2.6", with_rows=True)
    travels = pickle.dumps(of(store(tmp_path / "a.cachediag", 4), settings))
    assert len(travels) < 10_000
    for text in (b"turn 4-0", b"Look for 4", b"billing"):
        assert text not in travels
