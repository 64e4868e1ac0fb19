import pytest

from cachediag.compare.detectors.environment import in_snapshot

SNAPSHOT = """Here is useful information.
<env>
Working directory: /home/someone/port
Platform: linux
</env>
gitStatus: a snapshot in time
Current branch: main

Status:
M plan.py
?? notes.md

Recent commits:
abc1234 Add berths
# Rules
Be brief.""".splitlines()


@pytest.mark.parametrize("index", [2, 3, 6, 9, 10, 13])
def test_inside(index):
    assert in_snapshot(SNAPSHOT, index)


@pytest.mark.parametrize("index", [0, 15])
def test_outside(index):
    assert not in_snapshot(SNAPSHOT, index)


def test_past_the_end_asks_for_what_would_follow():
    assert in_snapshot(["Status:"], 1)
    assert not in_snapshot(["Rules:"], 1)
