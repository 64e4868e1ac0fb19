import time

from cachediag.capture import clock


def test_it_starts_from_the_system_s_clock():
    assert abs(clock.now() - time.time()) < 60


def test_it_neither_jumps_nor_stands_when_the_system_s_clock_is_set(monkeypatch):
    before, ticks = clock.now(), time.monotonic()
    for set_to in (0.0, 4e9):
        monkeypatch.setattr(time, "time", lambda set_to=set_to: set_to)
        time.sleep(0.01)
        after = clock.now()
        assert 0.01 <= after - before <= time.monotonic() - ticks + 0.01
        before, ticks = after, time.monotonic()
