"""A computation in a module whose first import does not end by itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

marker = Path(os.environ["HEADS_UP_TEST_IMPORT"])
if not marker.exists():
    marker.write_text(str(os.getpid()))
    for _ in range(6000):  # a signal is handled between two calls
        time.sleep(0.1)


def compute(
    arguments: Mapping[str, Any], progress: Callable[[float, str], object]
) -> dict[str, Any]:
    return {"process": os.getpid()}
