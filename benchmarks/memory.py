"""Memory of the server and its worker processes during visits of all pages.

    python -m benchmarks.memory [--sessions 6] [--seconds 90]

Sessions without a browser (`tests/websocket_session.py`) open one page after the other, each time
with another sentence; one of them trains a model meanwhile, and the pages request corpora to be
measured. Prints the peak of the sum over all processes, and what each process had at that moment:
PSS, in which a page shared by n processes counts 1/n for each of them.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import psutil

from benchmarks.harness import option_parser, report
from tests.live_app import ROOT, app_server
from tests.websocket_session import Session
from transformer.api.address_fields import DEPTHS
from transformer.api.visitors import new_id
from transformer.ui.base.registry import PAGES, path
from transformer.ui.pages.inside import TABS
from transformer.ui.pages.research import EXPERIMENTS

TRAIN_BUTTON = "Train on the server"


def visits() -> list[tuple[str, dict[str, str]]]:
    """Return the pages, tabs, depths and experiments as (page, query)."""
    return [
        *((path(file), {}) for file in PAGES),
        *(("", {"depth": depth}) for depth in DEPTHS),
        *(("inside", {"tab": tab}) for tab in TABS),
        *(("research", {"experiment": name}) for name in EXPERIMENTS),
    ]


def visit(address: str, number: int, end: float, counts: dict[str, int]) -> None:
    """Open one page after the other until `end`, as one visitor in one tab."""
    with Session(address, "", visitor=new_id()) as session:
        for turn, (page, query) in enumerate(itertools.cycle(visits())):
            if time.monotonic() > end:
                return
            text = f"The teacher of class {number} reads book {turn} in the garden."
            session.page, session.query = page, urlencode({**query, "text": text})
            session.widgets.clear()
            session.elements.clear()
            session.rerun()
            if number == 0 and page == "train" and not counts.get("runs"):
                session.click(TRAIN_BUTTON)
                counts["runs"] = 1
            counts["visits"] = counts.get("visits", 0) + 1


def megabytes(server: psutil.Process) -> dict[str, float]:
    """Return the PSS of each process, by name and process id."""
    sizes: dict[str, float] = {}
    for process in (server, *server.children(recursive=True)):
        with suppress(psutil.Error):
            is_child = process.ppid() == server.pid
            name = "server" if process == server else "fork server" if is_child else "worker"
            sizes[f"{name} {process.pid}"] = process.memory_full_info().pss / 1e6
    return sizes


def main(sessions: int, seconds: float, checkpoints: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        app_server(checkpoints, HEADS_UP_RUNS=f"{folder}/runs") as (address, process),
    ):
        server = psutil.Process(process.pid)
        report("server after its start", [sum(megabytes(server).values())], unit="MB")
        end, counts = time.monotonic() + seconds, dict[str, int]()
        threads = [
            threading.Thread(target=visit, args=(address, number, end, counts))
            for number in range(sessions)
        ]
        for thread in threads:
            thread.start()
        peak: dict[str, float] = {}
        while any(thread.is_alive() for thread in threads):
            sizes = megabytes(server)
            peak = max(peak, sizes, key=lambda sizes: sum(sizes.values()))
            time.sleep(0.5)
        for name, count in counts.items():
            report(name, [count], unit="")
        for name, size in peak.items():
            report(name, [size], unit="MB")
        report("peak of all processes together", [sum(peak.values())], "1000", unit="MB")


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--sessions", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    options = parser.parse_args()
    main(options.sessions, options.seconds, options.checkpoints)
