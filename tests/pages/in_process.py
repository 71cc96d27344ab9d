"""An executor that runs a page's computations in the process of the tests."""

from __future__ import annotations

import threading

from tests.jobs.conftest import IdleExecutor
from transformer.jobs.computation import compute
from transformer.jobs.queue import Queue
from transformer.jobs.worker_pool import Executor, WorkerPool


def in_process_executor(queue: Queue) -> Executor:
    return WorkerPool(queue) if queue.kind.saves else InProcessExecutor(queue)


class InProcessExecutor(IdleExecutor):
    """An executor of computations without a process of its own, which would import torch for 3
    seconds.

    It calls the same function on the same folders, but has no limits and cannot end a computation:
    a test that cancels a running one uses the `computing_process` fixture.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._threads: list[threading.Thread] = []

    def wake(self) -> None:
        self._threads.append(threading.Thread(target=self._work, daemon=True))
        self._threads[-1].start()

    def close(self) -> None:
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while claim := self._queue.claim_next("tests"):
            error: Exception | None = None
            try:
                compute(claim.folder.path)
            except Exception as caught:
                error = caught
            self._queue.release(claim, error)
