"""Raw messages to a server that was really started, while others look at pages and a run trains."""

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

from benchmarks.browser import served
from benchmarks.sessions import Session
from tests.attack.door import Attack
from tests.attack.hostile import Ids, payload
from tests.attack.training import config, losses, small_checkpoint
from tests.jobs.asking import wait_for
from tests.jobs.conftest import still_jobs
from transformer.jobs import Jobs
from transformer.ui.shell.class_news import PATH
from transformer.ui.shell.visitor import COOKIE, new_id

LONGEST = 5.0  # seconds that anybody else may be kept waiting
EVERY = 25  # inputs between two checks that the run continues
ENDPOINTS = ("/_stcore/stream", "/_stcore/x", "/", PATH, f"/x{PATH}")
PATHS = (
    *("/_stcore/upload_file/x/y", "/_stcore/upload_file/../../x", "/media/../../etc/passwd"),
    *("/_stcore/host-config", "/_stcore/metrics", "/component/x/../../../etc/passwd"),
    *("/static/%2e%2e/%2e%2e/etc/passwd", "/%00", "/" + "a" * 5000, "/_stcore/script-health"),
)
REFUSED = (OSError, WebSocketException, TimeoutError, http.client.HTTPException)


@contextmanager
def opened(folder: Path) -> Iterator[Attack]:
    """The app with a tiny model, one long run, and a visitor who only looks."""
    small_checkpoint(folder / "checkpoints")
    root = folder / "runs"
    looking = still_jobs(root, disk_free=1)
    run = looking.submit(config(10**8, save_every=10**6), "somebody")
    log = folder / "server.log"
    with served(folder / "checkpoints", log=log, HEADS_UP_RUNS=str(root)) as (address, process):
        ids = {page: widget_ids(address, page) for page in ("train", "translate", "attention")}
        bystander = Visitor(address, log)
        server = Server(address, process.pid, looking, run)
        server.goes_on()
        bystander.start()
        tried = 0

        def once(chance: random.Random) -> None:
            nonlocal tried
            tried += 1
            message = chance.choice((send, send, send, knock, ask))
            with contextlib.suppress(*REFUSED):  # the server may hang up, and no more
                message(chance, address, ids)
            assert process.poll() is None, "the server has ended"
            if tried % EVERY == 0:
                server.goes_on()
                bystander.is_well()

        def summary() -> str:
            return (
                f"a visitor's {bystander.visits} concurrent visits: the longest wait "
                f"{bystander.longest:.2f} s"
            )

        yield Attack(once, summary)
        bystander.end()
        server.goes_on()
        bystander.is_well()
    server.has_ended()


def widget_ids(address: str, page: str) -> list[str]:
    """The ids of a page's widgets; the train page starts the workers."""
    with Session(address, page) as session:
        ids = [getattr(widget, "id", "") for widget in session.elements.values()]
    return [id for id in ids if isinstance(id, str) and id]


class Server:
    """Its workers and the run that they train."""

    def __init__(self, address: str, pid: int, looking: Jobs, run: str) -> None:
        self.address, self._looking, self._run = address, looking, run
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

    def has_ended(self) -> None:
        """Wait for its workers, which save when it is gone."""
        workers = [psutil.Process(pid) for pid in self._workers if psutil.pid_exists(pid)]
        _, survivors = psutil.wait_procs(workers, 60)
        assert not survivors, f"still there after the server: {survivors}"

    def goes_on(self) -> None:
        """Raises AssertionError unless the same worker takes further steps of the run."""
        assert self._workers, "the server has no worker"
        assert self._worker_pids() == self._workers, "the worker was replaced"
        folder = self._looking.folder(self._run)
        before = folder.last_step()
        wait_for(
            lambda: folder.last_step() > before,
            lambda: f"training has stopped: {self._looking.run(self._run)}",
        )
        losses(folder)


class Visitor:
    """Opens pages one after the other, and notes how long it waits for each."""

    def __init__(self, address: str, log: Path) -> None:
        self._address, self._log, self._over = address, log, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.visits, self.longest, self.wrong = 0, 0.0, ""
        self._visit("translate")  # the first loads the model

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join(120)

    def is_well(self) -> None:
        """Raises AssertionError if a visit failed or took too long."""
        wrong, self.wrong = self.wrong, ""
        assert not wrong, f"another visitor: {wrong}"
        assert self.longest <= LONGEST, f"another visitor waited {self.longest:.1f} s"

    def _look(self) -> None:
        pages = ("translate", "attention", "train", "")
        while not self._over.wait(0.3):
            began = time.monotonic()
            try:
                self._visit(pages[self.visits % len(pages)])
            except Exception as error:
                log_text = self._log.read_text(errors="replace")
                at = log_text.rfind("compilation error")
                log_text = log_text[at if at >= 0 else max(0, len(log_text) - 1200) :][:1200]
                self.wrong = self.wrong or f"{type(error).__name__}: {error}\n{log_text}"
            self.longest = max(self.longest, time.monotonic() - began)
            self.visits += 1

    def _visit(self, page: str) -> None:
        with urllib.request.urlopen(f"{self._address}/_stcore/health", timeout=60) as answer:
            assert answer.status == 200
        with Session(self._address, page) as session:
            assert session.elements


def send(chance: random.Random, address: str, ids: Ids) -> None:
    """A session that sends a few messages, and reads what comes back, or hangs up."""
    url = address.replace("http", "ws", 1) + "/_stcore/stream"
    with connect(url, compression=None, max_size=None, close_timeout=1, open_timeout=60) as socket:
        for _ in range(chance.randint(1, 3)):
            socket.send(payload(chance, ids))
        if chance.random() < 0.5:
            for _ in range(20):
                socket.recv(timeout=0.2)


def knock(chance: random.Random, address: str, ids: Ids) -> None:
    """A handshake with other people's session ids, tokens, origins and hosts."""
    url = address.replace("http", "ws", 1) + chance.choice(ENDPOINTS)
    odd = chance.choice(("x", "0" * 5000, "null", "https://evil.example", "a.b.c"))
    protocols: Any = [chance.choice(("streamlit", "x")), "PLACEHOLDER_AUTH_TOKEN", "0" * 36]
    cookie = f"{COOKIE}={chance.choice((odd, new_id()))}"
    header = {chance.choice(("Cookie", "X-Forwarded-For", "User-Agent")): odd}
    header |= chance.choice(({}, {"Cookie": cookie}))
    with connect(
        url,
        origin=chance.choice((None, "https://evil.example", address)),  # type: ignore[arg-type]
        subprotocols=chance.choice((None, protocols)),
        additional_headers=header,
        open_timeout=60,
        close_timeout=1,
    ) as socket:
        socket.send(payload(chance, ids))


def ask(chance: random.Random, address: str, ids: Ids) -> None:
    """HTTP: paths that climb, files put where no session asked for them, methods that there are
    not."""
    where = urlsplit(address)
    path = chance.choice(PATHS)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        method = chance.choice(("GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "X"))
        connection.request(method, path, chance.randbytes(chance.choice((0, 10, 10**5))))
        answer = connection.getresponse()
        body = answer.read()
        assert b"root:" not in body, f"{path} gave a file of this machine"
        assert b"Traceback" not in body, f"{path} gave a traceback"
        assert answer.status < 600
    finally:
        connection.close()
