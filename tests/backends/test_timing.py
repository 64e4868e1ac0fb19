import pytest

from cachediag.backends.timing import from_times


@pytest.mark.parametrize(
    ("cold", "replay", "prompt", "cached", "prefilled"),
    [
        (10.0, 1.0, 1000, 900, 100),
        (10.0, 8.0, 1000, 0, 1000),
        (10.0, 12.0, 1000, 0, 1000),
        (10.0, 9.0, None, 0, None),
        (10.0, 1.0, None, None, None),
        (0.0, 1.0, 1000, 0, 1000),
    ],
)
def test_what_time_tells(cold, replay, prompt, cached, prefilled):
    reading = from_times(cold, replay, prompt)
    assert (reading.cached, reading.prefilled, reading.sure) == (cached, prefilled, "estimate")
