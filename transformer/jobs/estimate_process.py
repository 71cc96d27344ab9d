"""`python -m transformer.jobs.estimate_process`: steps measured for `jobs.estimating`.

Reads a `Workload` a line from standard input and writes {"weights", "seconds"} or {"reason"} for
each to standard output, until its input ends.
"""

from __future__ import annotations

import json
import os
import sys

from transformer.jobs import bounds
from transformer.training.errors import out_of_memory
from transformer.training.estimate import Workload, measured


def answer(line: str, most: int) -> dict[str, object]:
    """What the step of this line takes, or a clause that says why it cannot be measured."""
    try:
        weights, seconds = measured(Workload.from_dict(json.loads(line)))
        return {"weights": weights, "seconds": seconds}
    except (MemoryError, RuntimeError, ValueError, KeyError, TypeError) as error:
        if out_of_memory(error):
            reason = (
                f"a step needs more than the {most / 1e9:.1f} GB of memory that a run may take "
                "here; take a smaller model, or a smaller batch"
            )
        else:
            reason = f"its time cannot be told: {error}"
        return {"reason": reason}


def main(given: list[str]) -> int:
    """Arguments: bytes of memory, niceness, seconds of a processor for each answer."""
    most, nice, seconds = map(int, given)
    if hasattr(os, "nice"):
        os.nice(nice)
    bounds.memory(most)
    for line in sys.stdin:
        bounds.processor(seconds)
        print(json.dumps(answer(line, most)), flush=True)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    os._exit(code)  # torch takes its time to say good-bye
