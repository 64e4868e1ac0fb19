"""What each fix is worth on a real server, alone and together: `cachediag demo --live`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figure import Figure

__all__ = ["measure"]

_GROUP = "arms"
_BOTH = 13.0
_ALONE = 35.0
"""Per cent by which one fix alone may differ from none: neither cures it."""


def measure() -> Iterator[Figure]:
    """Run the demonstration, which plays its four arms in turn, and read its document.

    Raises:
        CalledProcessError: the demonstration fails.
    """
    done = subprocess.run(
        [sys.executable, "-m", "cachediag", "demo", "--live", "--format", "json"],
        check=True,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    document = json.loads(done.stdout)
    for arm in document["arms"]:
        yield Figure(
            group=_GROUP,
            name=f"warm turn, {arm['name']}, median",
            value=arm["warm_turn_median_s"],
            unit="s",
        )
    effects = {name: effect["factor"] for name, effect in document["effects"].items()}
    yield Figure(
        group=_GROUP,
        name="warm turn, as recorded / both",
        value=effects["both"],
        unit="×",
        aim=_BOTH,
        better="more",
    )
    for fix in ("rules", "patch"):
        apart = 100 * abs(1 / effects[fix] - 1)
        name = f"warm turn, {fix} only, apart from as recorded"
        yield Figure(group=_GROUP, name=name, value=apart, unit="%", aim=_ALONE)
