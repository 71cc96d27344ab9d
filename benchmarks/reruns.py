"""Time, CPU time and bytes of a rerun of each page; and thirty sessions at once.

    python -m benchmarks.reruns [--checkpoints FOLDER] [--seconds 20]

Sessions without a browser (`sessions.py`) send the reruns. First, one session measures each page:
the time of a script run without a change and with another of four sentences, the CPU time of the
server, and the bytes that it sends. Then thirty sessions on Attention each open another sentence
every second, and the times of their script runs are measured.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import psutil

from tests.live_app import ROOT, app_server
from tests.websocket_session import Session
from transformer.ui.shell.registry import PAGES, path

SENTENCES = (
    "I am a student.",
    "The cat did not cross the street.",
    "She opened the red umbrella.",
    "We will stay at home if it rains.",
)
RERUNS = 20
SESSIONS = 30
INTERVAL = 1.0
"""Seconds between two reruns of one of the sessions."""
GOAL_MS = 50.0
"""Goal for the 95th percentile."""


def rerun_with_sentence(session: Session, number: int) -> float:
    """Return the milliseconds of a rerun with this sentence."""
    session.query = urlencode({"text": SENTENCES[number % len(SENTENCES)]})
    return session.rerun()


def measure_page(address: str, server: psutil.Process, page: str) -> None:
    with Session(address, page) as session:
        for number in range(2 * len(SENTENCES)):
            rerun_with_sentence(session, number)
        before, received_before = server.cpu_times(), session.received
        new_sentence_times = [rerun_with_sentence(session, number) for number in range(RERUNS)]
        after, received_bytes = server.cpu_times(), session.received - received_before
        unchanged_times = [session.rerun() for _ in range(RERUNS)]
    cpu_ms = 1000 * (after.user + after.system - before.user - before.system) / RERUNS
    print(
        f"{'/' + page:<12} {statistics.median(unchanged_times):8.0f} "
        f"{statistics.median(new_sentence_times):8.0f} "
        f"{cpu_ms:8.0f} {received_bytes / RERUNS / 1000:8.1f}",
        flush=True,
    )


def rerun_regularly(address: str, seconds: float, start: threading.Barrier) -> list[float]:
    """Open another sentence every `INTERVAL`; return the milliseconds of the reruns."""
    times = []
    with Session(address, "attention") as session:
        for number in range(2 * len(SENTENCES)):
            rerun_with_sentence(session, number)
        start.wait()
        start_time = time.monotonic() + random.uniform(0, INTERVAL)
        for number in range(round(seconds / INTERVAL)):
            time.sleep(max(0.0, start_time + number * INTERVAL - time.monotonic()))
            times.append(rerun_with_sentence(session, number))
    return times


def measure_sessions(address: str, seconds: float) -> None:
    start = threading.Barrier(SESSIONS)
    with ThreadPoolExecutor(SESSIONS) as pool:
        futures = [pool.submit(rerun_regularly, address, seconds, start) for _ in range(SESSIONS)]
        times = [ms for future in futures for ms in future.result()]
    p95 = statistics.quantiles(times, n=20)[-1]
    print(
        f"{SESSIONS} sessions on Attention, each with a new sentence per second: median "
        f"{statistics.median(times):.0f} ms, 95th percentile {p95:.0f} ms (goal: at most "
        f"{GOAL_MS:.0f}), {len(times)} reruns"
    )


def main(checkpoints: Path, seconds: float) -> None:
    with (
        tempfile.TemporaryDirectory() as runs,
        app_server(checkpoints, HEADS_UP_RUNS=runs) as (address, process),
    ):
        server = psutil.Process(process.pid)
        print("rerun of   no change, ms   another sentence: ms, CPU ms, kB sent")
        for file in PAGES:
            measure_page(address, server, path(file))
        measure_sessions(address, seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    main(options.checkpoints, options.seconds)
