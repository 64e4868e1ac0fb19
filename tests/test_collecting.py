import gc

from cachediag.collecting import collect_seldom


def test_the_collector_looks_less_often_and_still_looks() -> None:
    before = gc.get_threshold()
    try:
        # Another test may have run a command before.
        gc.set_threshold(700, 10, 10)
        collect_seldom()
        assert gc.isenabled()
        assert 700 < gc.get_threshold()[0] < 1_000_000
    finally:
        gc.set_threshold(*before)
