"""The app's connection to a Dask scheduler: one client in its own thread, for all queues."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from distributed import Client
from distributed.security import Security

from transformer.cluster import host
from transformer.jobs.computation import fingerprint
from transformer.jobs.scheduler_address import KEY_FILES

ANSWER_TIMEOUT = 20  # seconds to wait for an answer of a connected worker
CONNECT_TIMEOUT = 3.0  # seconds to wait for the scheduler
SLOT_POLL_SECONDS = 0.05  # seconds between two checks for a free slot
Answer = TypeVar("Answer")


class LostError(OSError):
    """A machine does not answer, or no longer has a reservation."""


class Connection:
    """Connects on first use, and again when a lost scheduler comes back.

    All work with the cluster is done by coroutines in one thread; `submit` schedules one from any
    thread.
    """

    def __init__(self, scheduler: str, keys: str = "") -> None:
        """Store the address of the scheduler, and the folder with the three TLS files, if any."""
        self._scheduler, self._keys = scheduler, keys
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()
        self._connecting = asyncio.Lock()
        self._client: Client | None = None
        self._slots: dict[str, int] = {}  # run slots by worker address
        self.error_message = ""
        """Why the cluster cannot be used, as a sentence; empty if it can."""

    def start(self) -> None:
        """Start the thread, if it is not running."""
        with self._guard:
            if self._thread is None:
                # It logs tracebacks of a lost connection; `error_message` has a sentence instead.
                logging.getLogger("distributed").setLevel(logging.CRITICAL)
                self._loop = asyncio.new_event_loop()
                run = self._loop.run_forever
                self._thread = threading.Thread(target=run, name="cluster", daemon=True)
                self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, Answer]) -> concurrent.futures.Future[Answer]:
        """Run a coroutine in the connection's thread; cancelling the future cancels it."""
        self.start()
        assert self._loop
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call_soon(self, call: Callable[[], object]) -> None:
        """Call a function in the connection's thread, if it is running."""
        with self._guard:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(call)

    async def client(self) -> Client:
        """Return the connected client. Raises LostError if the scheduler does not answer."""
        async with self._connecting:
            if self._client is not None and self._client.status == "running":
                return self._client
            await self._drop()
            try:
                self._client = Client(
                    self._scheduler,
                    asynchronous=True,
                    security=self._security(),
                    set_as_default=False,
                    timeout=CONNECT_TIMEOUT,
                    name="heads-up",
                )
                await self._client
            except Exception as error:  # Dask's own errors, and those of sockets and TLS
                await self._drop()
                self.error_message = f"the cluster's scheduler {self._scheduler} does not answer"
                raise LostError(self.error_message) from error
            self.error_message = ""
            return self._client

    def _security(self) -> Security | None:
        if not self._keys:
            return None
        ca, certificate, key = (str(Path(self._keys) / name) for name in KEY_FILES)
        return Security(
            tls_ca_file=ca, tls_client_cert=certificate, tls_client_key=key, require_encryption=True
        )

    async def _drop(self) -> None:
        client, self._client = self._client, None
        self._slots = {}
        if client is not None:
            with suppress(Exception):  # `close` would wait for a lost scheduler to come back
                await client._close(fast=True)

    async def is_up(self) -> bool:
        """Whether the scheduler answers now."""
        with suppress(Exception):
            await self._identity()
            return True
        return False

    async def _identity(self) -> dict[str, Any]:
        """Return the scheduler's description of itself and its workers."""
        client = await self.client()
        assert client.scheduler
        identity: dict[str, Any] = await asyncio.wait_for(
            client.scheduler.identity(n_workers=-1), CONNECT_TIMEOUT
        )
        return identity

    async def workers(self) -> dict[str, int]:
        """Return the number of run slots of each usable worker, by address.

        Workers without slots or with another version of Heads Up are ignored. Raises LostError if
        the scheduler does not answer.
        """
        try:
            identity = await self._identity()
        except LostError:
            raise
        except Exception as error:
            await self._drop()
            raise LostError(
                f"the cluster's scheduler {self._scheduler} no longer answers"
            ) from error
        addresses = [
            address
            for address, worker in identity["workers"].items()
            if worker["resources"].get(host.RUN_RESOURCE, 0) >= 1
        ]
        refused = ""
        slots = {address: self._slots[address] for address in addresses if address in self._slots}
        for address in addresses:
            if address not in slots:
                try:
                    description = await self.call(address, host.describe)
                    if description["code"] != fingerprint():
                        raise LostError(
                            f"the worker {address} runs another version of Heads Up or torch"
                        )
                    slots[address] = int(description["slots"])
                except LostError as error:
                    refused = str(error)
        self._slots = slots
        self.error_message = ""
        if not slots:
            self.error_message = refused or (
                f'the cluster has no worker with --resources "{host.RUN_RESOURCE}=1" yet'
            )
        return slots

    async def call(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call one of `host`'s functions on a worker and return its result. Raises LostError if the
        worker does not answer or the call fails."""
        client = await self.client()
        request = asyncio.ensure_future(
            client.run(function, *arguments, workers=[worker], on_error="return")
        )
        try:
            for _ in range(ANSWER_TIMEOUT):
                if (await asyncio.wait([request], timeout=1.0))[0]:
                    break
                if worker not in (await self._identity())["workers"]:
                    raise LostError(f"the worker {worker} has left the cluster")
            else:
                raise LostError(f"the worker {worker} does not answer")
            answers = await request
        except LostError:
            raise
        except Exception as error:  # Dask's own errors, and those of sockets
            raise LostError(f"the worker {worker} does not answer") from error
        finally:
            request.cancel()
        answer = answers.get(worker)
        if isinstance(answer, BaseException) or worker not in answers:
            raise LostError(f"the worker {worker} does not answer: {answer}")
        return answer

    @asynccontextmanager
    async def reserve(self, worker: str, *, slot: bool) -> AsyncIterator[str]:
        """Hold a reservation on a worker during the block.

        Args:
            slot: whether it takes one of the worker's run slots; waits until one is free.

        Raises LostError if the worker does not answer.
        """
        client, reservation = await self.client(), secrets.token_hex(8)
        task = client.submit(
            host.hold_reservation,
            reservation,
            key=f"heads-up-{reservation}",
            workers=[worker],
            resources={host.RUN_RESOURCE: 1} if slot else None,
            pure=False,
            retries=0,
        )
        lost = False
        try:
            while not await self.call(worker, host.is_ready, reservation):
                if task.status not in ("pending", "finished"):
                    reason = (
                        f"it failed: {await task.exception()}" if task.status == "error" else ""
                    )
                    raise LostError(f"the worker {worker} accepts no work; {reason or task.status}")
                await asyncio.sleep(SLOT_POLL_SECONDS)
            yield reservation
        except LostError:
            lost = True
            raise
        finally:
            task.release()
            if not lost:
                with suppress(LostError):
                    await self.call(worker, host.end_reservation, reservation)

    def close(self) -> None:
        """Close the connection."""
        with self._guard:
            thread, self._thread = self._thread, None
            loop, self._loop = self._loop, None
        if thread is not None and loop is not None:
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(self._drop(), loop).result(5)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
