"""What a process of ours may take, held by the system: past it the process fails, and alone."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

CARDS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Where Linux has a graphics card's driver: NVIDIA's, AMD's, and that of Windows beneath it."""


def memory(most: int) -> bool:
    """Let this process have `most` bytes of its own; more is a MemoryError, or torch's word for it.

    Linux counts all that a process can write to and nobody else has (RLIMIT_DATA since 4.7): what
    libraries and mapped files take is not in it. A graphics card's driver sets aside far more than
    it uses, so nothing is bounded beside one. True where the system holds it.
    """
    if not sys.platform.startswith("linux") or any(Path(card).exists() for card in CARDS):
        return False
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    return True


def processor(seconds: int) -> bool:
    """Let this process compute for `seconds` from now on, all threads together; then it is ended.

    True where the system holds it.
    """
    if sys.platform == "win32":
        return False
    import resource

    until = math.ceil(time.process_time()) + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if hard != resource.RLIM_INFINITY:
        until = min(until, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (until, hard))
    return True
