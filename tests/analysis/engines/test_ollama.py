"""By `runner/ollamarunner/cache.go`, and the cases of its own `cache_test.go`."""

from cachediag.analysis.engines import engine
from tests.analysis.engines.prompts import Session, prompt, text


def test_one_input_is_left_to_sample_from() -> None:
    session = Session(engine("ollama"))
    session.send(prompt([1, 2]))
    assert session.reused(prompt([1, 2])) == 1


def test_one_slot_serves_all_lanes() -> None:
    session = Session(engine("ollama"))
    session.send(prompt(text(50)), "main")
    assert session.send(prompt(text(10), text(30, 1)), "title").evicted == ("main",)
    served = session.send(prompt(text(50)), "main")
    assert (served.reused, served.reason and served.reason.code) == (10, "P01")


def test_the_longest_common_prefix_chooses_the_slot() -> None:
    session = Session(engine("ollama:slots=2"))
    session.send(prompt([1]), started=0, ended=9)
    session.send(prompt([1, 2]), started=1, ended=2)
    assert session.reused(prompt([1, 2, 3]), started=3, ended=4) == 2


def test_a_shared_cache_copies_the_prefix() -> None:
    """`findBestCacheSlot`: a slot that the prompt does not wholly begin with is left alone."""
    session = Session(engine("ollama:slots=2,multiuser=1"))
    session.send(prompt(text(50)), "main")
    assert session.reused(prompt(text(10), text(30, 1)), "title") == 10
    assert session.reused(prompt(text(50), text(9, 2)), "main") == 50
