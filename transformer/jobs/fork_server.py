"""A process that has imported PyTorch and forks the workers, which share its memory.

Importing PyTorch takes about 150 MB and two seconds in every process; a fork shares the memory and
starts at once. Only on Linux: on other systems `worker_pool` starts an interpreter for each worker.

The fork server of `multiprocessing` runs the app's main script in every worker, which imports
Streamlit (54 MB of its own memory for a worker instead of 8), and reports all workers as ended
when the fork server itself is killed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from transformer.jobs import worker

IMPORTED_BEFORE = "transformer.training.train_folder"
"""Module that is imported before the first fork, PyTorch and the trainer with it."""
_MAX_MESSAGE = 1 << 16  # bytes of a request: the settings of a worker

_server: ForkServer | None = None
_lock = threading.Lock()


class ForkServer:
    """A process that forks workers; it ends when this process does."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._requests, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with child_end:
            serving = f"import {__name__} as server; server.serve({child_end.fileno()})"
            self.process = subprocess.Popen(
                [sys.executable, "-c", serving],
                stdin=subprocess.DEVNULL,
                pass_fds=[child_end.fileno()],
                env={**environment, "OMP_NUM_THREADS": "1"},  # each fork sets its own number
                process_group=0,  # Ctrl-C in the terminal reaches only the app itself
            )

    def request(self, message: bytes, descriptors: Sequence[int]) -> None:
        """Fork a worker with these descriptors as standard input and output. Raises OSError."""
        socket.send_fds(self._requests, [message], descriptors)

    def close(self) -> None:
        """End the fork server, but not its workers."""
        self._requests.close()
        self.process.kill()  # it may still import PyTorch
        self.process.wait()


def fork_worker(settings: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[int, int]:
    """Start a worker and return two file descriptors: its standard input and what it reports.

    The worker ends when its input is closed. Raises OSError.

    Args:
        environment: of the fork server, if this is its first worker.
    """
    global _server
    child_input, to_child = os.pipe()
    from_child, child_output = os.pipe()
    try:
        with _lock:
            if _server is None or _server.process.poll() is not None:
                if _server:
                    _server.close()
                _server = ForkServer(environment)
            _server.request(json.dumps(settings).encode(), [child_input, child_output])
    except OSError:
        os.close(to_child)
        os.close(from_child)
        raise
    finally:
        os.close(child_input)
        os.close(child_output)
    return to_child, from_child


@atexit.register
def _close() -> None:
    with _lock:
        if _server:
            _server.close()


def serve(descriptor: int) -> None:
    """Fork a worker for each request at a socket until the app has ended."""
    importlib.import_module(IMPORTED_BEFORE)
    gc.collect()
    gc.freeze()  # the garbage collector of a fork would write to the shared pages
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets workers that have ended
    with socket.socket(fileno=descriptor) as requests:
        while True:
            message, descriptors, _, _ = socket.recv_fds(requests, _MAX_MESSAGE, 2)
            if not message:
                return
            if os.fork() == 0:
                requests.close()
                _execute(message, descriptors)
            for child_end in descriptors:
                os.close(child_end)


def _execute(message: bytes, descriptors: Sequence[int]) -> NoReturn:
    """Be a worker: its input is the first descriptor, and its reports go to the second."""
    code = 1
    try:
        import torch

        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setpgid(0, 0)
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        settings = json.loads(message)
        os.nice(settings["nice"])
        torch.set_num_threads(settings["threads"])
        code = worker.main(settings)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
