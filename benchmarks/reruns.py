"""What a page costs that is drawn anew: each page alone, then thirty sessions at once.

    python -m benchmarks.reruns [--checkpoints FOLDER] [--seconds 20]

Sessions speak to the server as the page's script does (`sessions.py`), so that no browser is
measured. Alone: the time until the page has run to its end, as it is and with another of four
sentences, what of a processor the server takes for it, and what it sends. At once: thirty sessions
on Attention, each with another sentence every second; theirs is the time from asking to the end.
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

from benchmarks.browser import ROOT, served
from benchmarks.sessions import Session
from transformer.ui.shell.registry import PAGES, path

SENTENCES = (
    "I am a student.",
    "The cat did not cross the street.",
    "She opened the red umbrella.",
    "We will stay at home if it rains.",
)
RERUNS = 20
SESSIONS, EVERY, AIM = 30, 1.0, 50.0  # one rerun a second each; ms wanted at the 95th percentile


def turned(session: Session, number: int) -> float:
    """Milliseconds until the page shows this sentence."""
    session.query = urlencode({"text": SENTENCES[number % len(SENTENCES)]})
    return session.rerun()


def alone(address: str, server: psutil.Process, page: str) -> None:
    with Session(address, page) as session:
        for number in range(2 * len(SENTENCES)):
            turned(session, number)
        before, sent = server.cpu_times(), session.received
        others = [turned(session, number) for number in range(RERUNS)]
        after, sent = server.cpu_times(), session.received - sent
        same = [session.rerun() for _ in range(RERUNS)]
    taken = 1000 * (after.user + after.system - before.user - before.system) / RERUNS
    print(
        f"{'/' + page:<12} {statistics.median(same):8.0f} {statistics.median(others):8.0f} "
        f"{taken:8.0f} {sent / RERUNS / 1000:8.1f}",
        flush=True,
    )


def once_a_second(address: str, seconds: float, start: threading.Barrier) -> list[float]:
    found = []
    with Session(address, "attention") as session:
        for number in range(2 * len(SENTENCES)):
            turned(session, number)
        start.wait()
        begin = time.monotonic() + random.uniform(0, EVERY)
        for number in range(round(seconds / EVERY)):
            time.sleep(max(0.0, begin + number * EVERY - time.monotonic()))
            found.append(turned(session, number))
    return found


def at_once(address: str, seconds: float) -> None:
    start = threading.Barrier(SESSIONS)
    with ThreadPoolExecutor(SESSIONS) as pool:
        asked = [pool.submit(once_a_second, address, seconds, start) for _ in range(SESSIONS)]
        times = [ms for one in asked for ms in one.result()]
    p95 = statistics.quantiles(times, n=20)[-1]
    print(
        f"{SESSIONS} sessions on Attention, another sentence a second each: median "
        f"{statistics.median(times):.0f} ms, 95th percentile {p95:.0f} ms (at most {AIM:.0f} "
        f"wanted), {len(times)} reruns"
    )


def main(checkpoints: Path, seconds: float) -> None:
    with (
        tempfile.TemporaryDirectory() as runs,
        served(checkpoints, HEADS_UP_RUNS=runs) as (address, process),
    ):
        server = psutil.Process(process.pid)
        print("page drawn anew     as it is  another sentence: ms, of a processor, kB sent")
        for file in PAGES:
            alone(address, server, path(file))
        at_once(address, seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    main(given.checkpoints, given.seconds)
