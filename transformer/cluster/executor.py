"""The executor of jobs on a cluster: submits each claimed job as a Dask task and follows it."""

from __future__ import annotations

import logging
import secrets
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from distributed import Client, Future
from distributed.security import Security

from transformer.cluster import host
from transformer.cluster.folders import Changes, checkpoint_folders, read_changes, write_changes
from transformer.jobs.computation import fingerprint
from transformer.jobs.folder import JobFolder
from transformer.jobs.limits import KEY_FILES, Limits
from transformer.jobs.queue import Claim, Queue
from transformer.text.files import read_json

CONNECT_TIMEOUT = 3.0  # seconds to wait for the scheduler
QUEUE_POLL_SECONDS = 2.0  # seconds between two checks for jobs that another app has queued
REPORT_SECONDS = 0.2  # seconds between two reports on submitted jobs
SAVE_GRACE_SECONDS = 20.0  # seconds for runs to save when the app ends


@dataclass
class SubmittedJob:
    """A claimed job and its task; `worker` is the address of the worker that executes it, or ""
    until one does."""

    claim: Claim
    task: Future[Any] | None = None
    worker: str = ""

    @property
    def folder(self) -> JobFolder:
        return self.claim.folder


class ClusterExecutor:
    """A thread that claims as many jobs as the cluster has slots, and receives what they write.

    A job whose worker is lost is not left to Dask, which would repeat the task with the files that
    it began with: it is queued again, and continues from the last save received.
    """

    def __init__(self, queue: Queue, limits: Limits) -> None:
        self._queue, self._kind, self._limits = queue, queue.kind, limits
        self._jobs: dict[str, SubmittedJob] = {}
        self._n_slots = 0
        self._error = self._disk_error = ""
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._closing = threading.Event()

    def start(self) -> None:
        if self._thread is None and not self._closing.is_set():
            # It logs tracebacks of a lost connection; `_error` has a sentence instead.
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            self._thread = threading.Thread(target=self._run, name="cluster", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        self.start()
        self._wake.set()

    def startup_error(self) -> str:
        return self._error or self._disk_error

    def close(self) -> None:
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(SAVE_GRACE_SECONDS + 10)

    def _run(self) -> None:
        """Follow the jobs until the app ends and they are saved."""
        client: Client | None = None
        deadline = float("inf")
        while self._jobs or not self._closing.is_set():
            self._wake.clear()
            if self._closing.is_set():
                deadline = min(deadline, time.monotonic() + SAVE_GRACE_SECONDS)
            if time.monotonic() > deadline:
                self._return_all()
                break
            try:
                if client is None:
                    client = self._connect()
                self._follow(client)
            except Exception as error:
                if not isinstance(error, OSError):  # those are Dask's, of sockets and TLS
                    traceback.print_exc()
                self._n_slots = 0
                self._error = f"the cluster's scheduler {self._limits.scheduler} does not answer"
                self._return_all()
                if client is not None:
                    client.close(timeout=1)
                client = None
            self._wake.wait(REPORT_SECONDS if self._jobs else QUEUE_POLL_SECONDS)
        if client is not None:
            client.close(timeout=1)

    def _connect(self) -> Client:
        security = None
        if keys := self._limits.cluster_keys:
            ca, certificate, key = (str(Path(keys) / name) for name in KEY_FILES)
            security = Security(
                tls_ca_file=ca,
                tls_client_cert=certificate,
                tls_client_key=key,
                require_encryption=True,
            )
        return Client(
            self._limits.scheduler,
            security=security,
            set_as_default=False,
            timeout=CONNECT_TIMEOUT,
            name="heads-up",
        )

    def _follow(self, client: Client) -> None:
        """Send controls, receive reports, end the jobs that are done or lost, and submit others."""
        if client.status != "running":
            raise ConnectionError(client.status)
        for name, job in [*self._jobs.items()]:
            if self._is_unwanted(job.folder):
                self._release(name, None, interrupted=True)
        controls = {name: self._control(job.folder) for name, job in self._jobs.items()}
        reports = client.run(host.report, self._kind, controls, on_error="return")
        workers = self._usable(reports)
        for worker, report in workers.items():
            for name, (state, changes) in report["jobs"].items():
                self._receive(name, worker, state, changes)
        for name, job in [*self._jobs.items()]:
            if job.task is not None and job.task.status in ("finished", "error"):
                self._end(name, job.task)
            elif job.worker and job.worker not in workers:
                self._release(name, None, interrupted=True, lost=True)
            elif job.task is not None and job.task.status != "pending":
                self._release(name, None, interrupted=True)  # its files were lost before it began
        if not self._closing.is_set():
            self._submit(client, workers)

    def _usable(self, reports: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reports of workers that can execute jobs; store why none can."""
        usable, problem = {}, ""
        for worker, report in reports.items():
            if not isinstance(report, Mapping):
                problem = f"the worker {worker} does not answer: {report}"
            elif report["code"] != fingerprint():
                problem = f"the worker {worker} runs another version of Heads Up or torch"
            elif report["slots"]:
                usable[worker] = report
                problem = report["error"] or problem
        self._n_slots = sum(report["slots"] for report in usable.values())
        works = any(not report["error"] for report in usable.values())
        no_worker = f'the cluster has no worker with --resources "{host.RUN_RESOURCE}=1" yet'
        self._error = "" if works else problem or no_worker
        return usable

    def _is_unwanted(self, folder: JobFolder) -> bool:
        """Whether a job can be stopped without a save: its owner has deleted it, no visitor waits
        for it any more, or the app ends and it has no saves."""
        ends = self._closing.is_set() and not self._kind.saves
        return ends or self._queue.mark_abandoned(folder) or bool(folder.job().get("deleted"))

    def _control(self, folder: JobFolder) -> dict[str, Any]:
        """Return the user's control of a run; "pause", so that it is saved, if the app ends."""
        control = asdict(folder.control())
        return control | {"command": "pause"} if self._closing.is_set() else control

    def _receive(self, name: str, worker: str, state: dict[str, Any], changes: Changes) -> None:
        job = self._jobs.get(name)
        if job is None:  # ended by an error below
            return
        if job.worker not in ("", worker):
            return self._release(name, None, interrupted=True, lost=True)  # Dask has begun it again
        job.worker = worker
        try:
            write_changes(job.folder.path, changes)
            if state["status"] == "running" and state != job.folder.state():
                job.folder.write_state(**state)
        except OSError as error:
            self._release(name, error, interrupted=False)

    def _end(self, name: str, task: Future[Any]) -> None:
        """Receive the last report of a job whose task is done."""
        folder = self._jobs[name].folder
        error: Exception | None = None
        interrupted = False
        try:
            state, changes = task.result()
            write_changes(folder.path, changes)
            interrupted = self._closing.is_set() and state["status"] in ("paused", "cancelled")
            if not interrupted:
                folder.write_state(**state)
        except Exception as caught:
            traceback.print_exc()
            error = caught
        self._release(name, error, interrupted)

    def _return_all(self) -> None:
        for name in [*self._jobs]:
            self._release(name, None, interrupted=True)

    def _release(
        self, name: str, error: Exception | None, interrupted: bool, *, lost: bool = False
    ) -> None:
        """Release the claim of a job; if its task has not ended, its worker stops it.

        Args:
            lost: whether its machine was lost, which the job may have caused.
        """
        job = self._jobs.pop(name)
        if job.task is not None:
            job.task.release()
        queue, folder = self._queue, job.folder
        with job.claim.lock:
            try:
                if lost:
                    with queue.locked():
                        queue.count_loss(folder)
                else:
                    queue.release(job.claim, error, interrupted)
            except OSError as full_disk:  # the next check finds the job without a worker
                self._disk_error = f"the end of a job cannot be stored: {full_disk.strerror}"

    def _submit(self, client: Client, workers: Mapping[str, Any]) -> None:
        """Claim the next queued jobs, as many as there are free slots, and submit them."""
        slots = self._n_slots if self._kind.saves else min(self._n_slots, self._kind.processes)
        while len(self._jobs) < slots:
            name = secrets.token_hex(8)
            try:
                claim = self._queue.claim_next(name)
            except OSError as error:
                self._disk_error = f"a queued job cannot be started: {error.strerror or error}"
                return
            if claim is None:
                return
            self._disk_error = ""
            job = self._jobs[name] = SubmittedJob(claim)
            try:
                files = self._files(claim.folder.path)
            except (OSError, ValueError, KeyError) as error:
                self._release(name, error, interrupted=False)
                continue
            [sent_files] = client.scatter([files], workers=[*workers], hash=False)
            job.task = client.submit(
                host.execute,
                name,
                self._kind,
                sent_files,
                key=f"heads-up-{name}",
                workers=[*workers],
                resources={host.RUN_RESOURCE: 1} if self._kind.saves else None,
                pure=False,
            )

    def _files(self, folder: Path) -> Changes:
        """Return the files of a job, and those of the checkpoints that a computation reads."""
        files, _ = read_changes(folder, {})
        if not self._kind.saves:
            arguments = read_json(folder / "config.json")["arguments"]
            for number, path in enumerate(checkpoint_folders(arguments)):
                checkpoint, _ = read_changes(Path(path), {})
                files |= {
                    f"checkpoint-{number}/{name}": change for name, change in checkpoint.items()
                }
        return files
