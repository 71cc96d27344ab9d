"""`python -m tests.attack.app FOLDER [TRAINER]`: a server as far as runs go.

It holds `Jobs` with a worker, as the app does. A line of standard input is [config, owner] of a run
to put in line, whose name it prints.
"""

from __future__ import annotations

import json
import sys

from transformer.jobs import Jobs, Limits
from transformer.jobs.jobs import TRAINER
from transformer.run_config import TrainingRun, parse


def main(folder: str, trainer: str = TRAINER) -> None:
    limits = Limits(workers=1, nice=0, disk_free=1, runs_per_visitor=10**6, queued=10**6)
    with Jobs(folder, limits, trainer=trainer) as jobs:
        jobs.start()
        for line in sys.stdin:
            config, owner = json.loads(line)
            run_config = parse(config)
            assert isinstance(run_config, TrainingRun)
            print(jobs.submit(run_config, owner), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
