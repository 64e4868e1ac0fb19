"""What a process has taken of memory."""

import resource
import sys
from pathlib import Path

__all__ = ["peak"]

_STATUS = Path("/proc/self/status")


def peak() -> int:
    """Bytes of memory that this process has had at most.

    On Linux `getrusage` would not tell: it begins with the peak of the process that started this.
    """
    if _STATUS.exists():
        fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
