"""`python -m tests.attack.queue_server FOLDER [TRAINER]`: a server without pages.

It has a queue (`Jobs`) and a worker, like the app. For each line of standard input, [config, owner]
as JSON, it queues a run and prints its name.
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
