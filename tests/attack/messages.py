"""Raw messages to a running server while another visitor opens pages and a run is trained."""

from __future__ import annotations

import contextlib
import http.client
import random
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.attack.random_input import WidgetIds, random_payload
from tests.attack.short_runs import config, losses, small_checkpoint
from tests.attack.target import Attack
from tests.jobs.conftest import idle_jobs
from tests.jobs.fake_computations import wait_for
from tests.live_app import app_server
from tests.websocket_session import Session
from transformer.jobs import Jobs
from transformer.ui.shell.class_updates import PATH
from transformer.ui.shell.visitor import COOKIE, new_id

MAX_WAIT_SECONDS = 5.0  # maximum time that another visitor may wait
CHECK_INTERVAL = 25  # inputs between two checks that the run continues
ENDPOINTS = ("/_stcore/stream", "/_stcore/x", "/", PATH, f"/x{PATH}")
PATHS = (
    *("/_stcore/upload_file/x/y", "/_stcore/upload_file/../../x", "/media/../../etc/passwd"),
    *("/_stcore/host-config", "/_stcore/metrics", "/component/x/../../../etc/passwd"),
    *("/static/%2e%2e/%2e%2e/etc/passwd", "/%00", "/" + "a" * 5000, "/_stcore/script-health"),
)
CONNECTION_ERRORS = (OSError, WebSocketException, TimeoutError, http.client.HTTPException)


@contextmanager
def start_attack(folder: Path) -> Iterator[Attack]:
    """Attack the app while one long run trains and a visitor opens pages."""
    small_checkpoint(folder / "checkpoints")
    root = folder / "runs"
    jobs = idle_jobs(root, disk_free=1)
    run = jobs.submit(config(10**8, save_every=10**6), "somebody")
    log = folder / "server.log"
    with app_server(folder / "checkpoints", log=log, HEADS_UP_RUNS=str(root)) as (address, process):
        ids = {page: widget_ids(address, page) for page in ("train", "translate", "attention")}
        other_visitor = Visitor(address, log)
        server = Server(address, process.pid, jobs, run)
        server.check_progress()
        other_visitor.start()
        n_inputs = 0

        def try_input(rng: random.Random) -> None:
            nonlocal n_inputs
            n_inputs += 1
            attack = rng.choice(
                (send_messages, send_messages, send_messages, connect_with_invalid_headers, request)
            )
            with contextlib.suppress(*CONNECTION_ERRORS):  # the server may close the connection
                attack(rng, address, ids)
            assert process.poll() is None, "the server has ended"
            if n_inputs % CHECK_INTERVAL == 0:
                server.check_progress()
                other_visitor.check()

        def summary() -> str:
            return (
                f"a visitor's {other_visitor.n_visits} concurrent visits: the longest wait "
                f"{other_visitor.longest_seconds:.2f} s"
            )

        yield Attack(try_input, summary)
        other_visitor.end()
        server.check_progress()
        other_visitor.check()
    server.wait_for_end()


def widget_ids(address: str, page: str) -> list[str]:
    """Return the ids of a page's widgets. Opening the Train page starts the workers."""
    with Session(address, page) as session:
        ids = [getattr(widget, "id", "") for widget in session.elements.values()]
    return [id for id in ids if isinstance(id, str) and id]


class Server:
    """The workers of the server and the run that they train."""

    def __init__(self, address: str, pid: int, jobs: Jobs, run: str) -> None:
        self.address, self._jobs, self._run = address, jobs, run
        self._process = psutil.Process(pid)
        self._workers = self._worker_pids()

    def _worker_pids(self) -> set[int]:
        deadline = time.monotonic() + 60
        while True:
            children = self._process.children()
            workers = {
                process.pid
                for process in children
                if "transformer.jobs.worker" in process.cmdline()
            }
            if workers or time.monotonic() > deadline:
                return workers
            time.sleep(0.1)

    def wait_for_end(self) -> None:
        """Wait for the workers, which save their run when the server has stopped."""
        workers = [psutil.Process(pid) for pid in self._workers if psutil.pid_exists(pid)]
        _, survivors = psutil.wait_procs(workers, 60)
        assert not survivors, f"still running after the server: {survivors}"

    def check_progress(self) -> None:
        """Check that the same worker takes further steps of the run."""
        assert self._workers, "the server has no worker"
        assert self._worker_pids() == self._workers, "the worker was replaced"
        folder = self._jobs.folder(self._run)
        before = folder.last_step()
        wait_for(
            lambda: folder.last_step() > before,
            lambda: f"training has stopped: {self._jobs.run(self._run)}",
        )
        losses(folder)


class Visitor:
    """Opens pages one after the other and measures how long each takes."""

    def __init__(self, address: str, log: Path) -> None:
        self._address, self._log, self._stop = address, log, threading.Event()
        self._thread = threading.Thread(target=self._open_pages, daemon=True)
        self.n_visits, self.longest_seconds, self.error = 0, 0.0, ""
        self._visit("translate")  # the first visit loads the model

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        self._thread.join(120)

    def check(self) -> None:
        """Check that no visit failed or took too long."""
        error, self.error = self.error, ""
        assert not error, f"another visitor: {error}"
        assert self.longest_seconds <= MAX_WAIT_SECONDS, (
            f"another visitor waited {self.longest_seconds:.1f} s"
        )

    def _open_pages(self) -> None:
        pages = ("translate", "attention", "train", "")
        while not self._stop.wait(0.3):
            start_time = time.monotonic()
            try:
                self._visit(pages[self.n_visits % len(pages)])
            except Exception as error:
                log_text = self._log.read_text(errors="replace")
                log_start = log_text.rfind("compilation error")
                log_start = log_start if log_start >= 0 else max(0, len(log_text) - 1200)
                log_text = log_text[log_start : log_start + 1200]
                self.error = self.error or f"{type(error).__name__}: {error}\n{log_text}"
            self.longest_seconds = max(self.longest_seconds, time.monotonic() - start_time)
            self.n_visits += 1

    def _visit(self, page: str) -> None:
        with urllib.request.urlopen(f"{self._address}/_stcore/health", timeout=60) as response:
            assert response.status == 200
        with Session(self._address, page) as session:
            assert session.elements


def send_messages(rng: random.Random, address: str, ids: WidgetIds) -> None:
    """Open a session and send a few messages; read the replies or close the connection."""
    url = address.replace("http", "ws", 1) + "/_stcore/stream"
    with connect(url, compression=None, max_size=None, close_timeout=1, open_timeout=60) as socket:
        for _ in range(rng.randint(1, 3)):
            socket.send(random_payload(rng, ids))
        if rng.random() < 0.5:
            for _ in range(20):
                socket.recv(timeout=0.2)


def connect_with_invalid_headers(rng: random.Random, address: str, ids: WidgetIds) -> None:
    """Connect with an invalid cookie, token, origin or header, and send a message."""
    url = address.replace("http", "ws", 1) + rng.choice(ENDPOINTS)
    odd = rng.choice(("x", "0" * 5000, "null", "https://evil.example", "a.b.c"))
    protocols: Any = [rng.choice(("streamlit", "x")), "PLACEHOLDER_AUTH_TOKEN", "0" * 36]
    cookie = f"{COOKIE}={rng.choice((odd, new_id()))}"
    header = {rng.choice(("Cookie", "X-Forwarded-For", "User-Agent")): odd}
    header |= rng.choice(({}, {"Cookie": cookie}))
    with connect(
        url,
        origin=rng.choice((None, "https://evil.example", address)),  # type: ignore[arg-type]
        subprotocols=rng.choice((None, protocols)),
        additional_headers=header,
        open_timeout=60,
        close_timeout=1,
    ) as socket:
        socket.send(random_payload(rng, ids))


def request(rng: random.Random, address: str, ids: WidgetIds) -> None:
    """Send an HTTP request with path traversal, an unrequested upload or an unknown method."""
    url = urlsplit(address)
    path = rng.choice(PATHS)
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=60)
    try:
        method = rng.choice(("GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "X"))
        connection.request(method, path, rng.randbytes(rng.choice((0, 10, 10**5))))
        response = connection.getresponse()
        body = response.read()
        assert b"root:" not in body, f"{path} returned a file of this machine"
        assert b"Traceback" not in body, f"{path} returned a traceback"
        assert response.status < 600
    finally:
        connection.close()
