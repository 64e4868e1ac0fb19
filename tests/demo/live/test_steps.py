"""What is asked for, and how long it takes."""

import pytest

from cachediag.demo.live.steps import LiveDemo
from cachediag.errors import UsageError


def test_the_header_reaches_the_prompt() -> None:
    choice = LiveDemo(release="0.2.9").choice()
    assert choice.counter.profile.name == "vllm-mlx@0.2.9:strip=off"
    assert (choice.model, choice.engine.name) == ("qwen2.5", "none")


def test_no_such_release() -> None:
    with pytest.raises(UsageError):
        LiveDemo(release="three").choice()


def test_the_usual_takes_less_than_ten_minutes_and_more_takes_longer() -> None:
    usual = LiveDemo().minutes
    assert 3 < usual < 10
    assert LiveDemo(tokens=0, repeats=1).minutes == 1
    assert LiveDemo(repeats=4).minutes > usual
    assert LiveDemo(tokens=24_000).minutes > 2 * usual
    assert LiveDemo(client="claude").minutes == LiveDemo(client="claude", tokens=0).minutes > usual
