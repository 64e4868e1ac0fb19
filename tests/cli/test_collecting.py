import gc

from cachediag.cli.collecting import collect_seldom


def test_the_collector_looks_less_often_and_still_looks() -> None:
    before = gc.get_threshold()
    try:
        collect_seldom()
        assert gc.isenabled()
        assert gc.get_threshold()[0] > before[0]
    finally:
        gc.set_threshold(*before)
