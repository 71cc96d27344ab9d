"""How long another visitor waits while one address floods the server with messages.

    python -m benchmarks.flood [--sockets 6] [--messages 1500] [--checkpoints FOLDER]

Each socket sends its messages as fast as it can. Another visitor reruns a page meanwhile; a time
runs from the message to the end of the page's script.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.harness import option_parser, report
from tests.live_app import ROOT, app_server
from tests.websocket_session import Session, flood

QUIET_RERUNS = 20
AFTERWARDS_SECONDS = 5.0


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--sockets", type=int, default=6)
    parser.add_argument("--messages", type=int, default=1500)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    options = parser.parse_args()
    with app_server(options.checkpoints) as (address, _), Session(address, "glossary") as other:
        report("a rerun, quiet server", [other.rerun() for _ in range(QUIET_RERUNS)])
        with ThreadPoolExecutor(1) as pool:
            flooding = pool.submit(flood, address, options.sockets, options.messages)
            times, end = [], time.monotonic() + AFTERWARDS_SECONDS
            while time.monotonic() < end:
                times.append(other.rerun())
                time.sleep(0.2)
        report("a rerun during the flood", times)
        report("the longest", [max(times)], "1000")
        print(f"close codes: {flooding.result()}")


if __name__ == "__main__":
    main()
