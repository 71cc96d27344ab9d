"""How long another visitor waits while one address asks for too much.

    python -m benchmarks.flood [--sockets 6] [--messages 1500] [--checkpoints FOLDER]

First each socket sends its messages as fast as it can, and another visitor reruns a page; a time
runs from the message to the end of the page's script. Then as many visitors as sockets, each with a
cookie of its own, translate one text after the other on Try: greedily, and with beam search.
Another visitor, at another address, translates a sentence meanwhile.
"""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.harness import option_parser, report
from tests.live_app import ROOT, app_server
from tests.websocket_session import Session, flood
from transformer.api.visitors import COOKIE, new_id

QUIET_RERUNS = 20
AFTERWARDS_SECONDS = 5.0
BUSY_SECONDS = 30.0
QUIET_TRANSLATIONS = 20
OTHER_ADDRESS = "127.0.0.2"
LONG = "She has never seen the sea, and nobody in the village has ever told her about it. " * 3
METHODS: dict[str, dict[str, object]] = {
    "greedily": {"method": "greedy"},
    "with beam 12": {"method": "beam", "beam_size": 12},
}


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--sockets", type=int, default=6)
    parser.add_argument("--messages", type=int, default=1500)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    options = parser.parse_args()
    with app_server(options.checkpoints) as (address, _):
        with Session(address, "glossary") as other:
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
        visitor = Visitor(address, OTHER_ADDRESS)
        report("a translation, quiet server", translations(visitor, QUIET_TRANSLATIONS))
        for name, method in METHODS.items():
            report(
                f"a translation while {options.sockets} visitors of one address translate {name}",
                translations_while_busy(address, visitor, options.sockets, method),
                "1000",
            )


class Visitor:
    """A visitor with a cookie of its own, who sends one request after the other."""

    def __init__(self, address: str, source: str = "") -> None:
        """
        Args:
            address: of the app.
            source: address from which the requests come; "" is the usual one.
        """
        self._connection = HTTPConnection(
            urlsplit(address.replace("localhost", "127.0.0.1")).netloc,
            timeout=120,
            source_address=(source, 0) if source else None,
        )
        self._cookie = f"{COOKIE}={new_id()}"

    def translate(self, text: str, **settings: object) -> float:
        """Return the milliseconds that a translation takes."""
        start = time.perf_counter()
        self._connection.request(
            "POST",
            "/api/translate",
            json.dumps({"text": text, **settings}),
            {"Content-Type": "application/json", "Cookie": self._cookie},
        )
        response = self._connection.getresponse()
        body = response.read()
        if response.status not in (200, 429, 503):
            raise RuntimeError(f"the server answers {response.status}: {body[:200]!r}")
        return 1000 * (time.perf_counter() - start)


def translations(visitor: Visitor, n: int) -> list[float]:
    """Return the times of `n` translations of different sentences."""
    return [visitor.translate(f"I am student number {i}.") for i in range(n)]


def translations_while_busy(
    address: str, other: Visitor, visitors: int, settings: dict[str, object]
) -> list[float]:
    """Return the times of another visitor's translations while `visitors` translate long texts."""
    ended, numbers = threading.Event(), count()

    def keep_asking() -> None:
        visitor = Visitor(address)
        while not ended.is_set():
            visitor.translate(f"{next(numbers)} {LONG}", **settings)

    with ThreadPoolExecutor(visitors) as pool:
        asking = [pool.submit(keep_asking) for _ in range(visitors)]
        times, end = [], time.monotonic() + BUSY_SECONDS
        while time.monotonic() < end:
            times.append(other.translate(f"I am student number {next(numbers)}."))
            time.sleep(0.2)
        ended.set()
    for result in asking:
        result.result()
    return times


if __name__ == "__main__":
    main()
