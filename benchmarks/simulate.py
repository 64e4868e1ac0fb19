"""A million requests over 16 replicas under each routing policy: processor time and memory.

`python -m benchmarks.simulate POLICY [REQUESTS]` plays one policy and prints what it took as JSON.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.figure import Figure
from benchmarks.memory import peak
from cachediag.collecting import collect_seldom

__all__ = ["measure"]

_GROUP = "simulate"
_REQUESTS = 1_000_000
_REPLICAS = 16
_SECONDS, _MEGABYTES = 60, 1000


def measure() -> Iterator[Figure]:
    """Play each policy in a process of its own, one after another."""
    from cachediag.simulate.policies import POLICIES

    for policy in POLICIES:
        command = [sys.executable, "-m", "benchmarks.simulate", policy]
        taken = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        yield Figure(group=_GROUP, name=policy, value=taken["seconds"], unit="s", aim=_SECONDS)
        yield Figure(
            group=_GROUP,
            name=f"{policy}, peak memory",
            value=taken["megabytes"],
            unit="MB",
            aim=_MEGABYTES,
        )


def _play(policy: str, requests: int) -> dict[str, float]:
    from cachediag.simulate import loop, policies
    from cachediag.simulate.model import Server
    from cachediag.simulate.workloads.shared_prefix import SharedPrefix

    # As the command does.
    collect_seldom()
    # Blocks of 16 tokens: 512 a prompt, 25 of them new with its reply. Each replica is busy all the
    # time with some twenty requests, and its cache drops what it has not used for longest.
    workload = SharedPrefix(requests=requests, prefixes=64, rate=100).workload()
    server = Server(prefill_rate=20_000, decode_rate=60, batch_rate=3_000, capacity=500_000)
    started = time.process_time()
    loop.play(workload, server, policies.policy(policy), replicas=_REPLICAS, seed=1)
    seconds = time.process_time() - started
    return {
        "seconds": seconds,
        "megabytes": peak() / 1e6,
    }


if __name__ == "__main__":
    print(json.dumps(_play(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else _REQUESTS)))
