"""Peak memory of this process."""

from __future__ import annotations

import re
import resource
from pathlib import Path


def peak_mb() -> float:
    """Peak resident memory in MB since this program was started.

    Read from /proc where there is one: ``ru_maxrss`` survives exec, so that a child of a large process starts with its
    parent's peak.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.is_file() else None
    kilobytes = int(found.group(1)) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / 1024
