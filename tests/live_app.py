"""Helpers of tests, benchmarks and pictures to start the app on a free port and to drive it in a
browser."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IDLE_SCRIPT_STATE = "notRunning"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def app_server(
    checkpoints: Path,
    *,
    log: Path | None = None,
    script: Path = Path("app.py"),
    port: int = 0,
    **env: str,
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start the app with `streamlit run`; yield its address and its process.

    Args:
        log: file for its standard error, which is discarded by default.
        script: another app to start instead.
        port: 0 for a free one.
    """
    command = [sys.executable, "-m", "streamlit", "run", str(script)]
    env["HEADS_UP_CHECKPOINTS"] = str(checkpoints)
    with streamlit_server(command, log=log, port=port, **env) as server:
        yield server


@contextmanager
def streamlit_server(
    command: Sequence[str],
    *,
    log: Path | None = None,
    folder: Path = ROOT,
    port: int = 0,
    **env: str,
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a Streamlit server with this command in this folder, as `app_server` does."""
    if not port:
        with socket.socket() as probe_socket:
            probe_socket.bind(("localhost", 0))
            port = probe_socket.getsockname()[1]
    error_log = log.open("wb") if log else None
    server = subprocess.Popen(
        [*command, "--server.headless", "true", "--server.port", str(port)],
        cwd=folder,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=error_log or subprocess.DEVNULL,
    )
    if error_log:
        error_log.close()
    address = f"http://localhost:{port}"
    try:
        wait_for_server(f"{address}/_stcore/health", server)
        yield address, server
    finally:
        server.terminate()
        try:
            server.wait(2)
        except subprocess.TimeoutExpired:  # it waits for open pages
            server.kill()
            server.wait()


@contextmanager
def http_server(folder: Path) -> Iterator[str]:
    """Serve a folder by `python -m http.server`; yield its address."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as server:
        try:
            assert server.stdout is not None
            # "Serving HTTP on 127.0.0.1 port 45123 (http://…"
            first_line = server.stdout.readline()
            yield f"http://localhost:{first_line.split(' port ')[1].split()[0]}/"
        finally:
            server.terminate()


def wait_for_server(address: str, server: subprocess.Popen[bytes], timeout: float = 180) -> None:
    """Wait until the server answers. Raises RuntimeError if it exits or does not answer in time."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"The app did not answer at {address} within {timeout} s.")


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """Start the system's Chromium or else Playwright's own, with additional `flags`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=[*FLAGS, *flags]
        )
        yield browser
        browser.close()


def wait_for_script_run(page: Page) -> None:
    """Wait until the script run of the page has ended."""
    page.locator(f"[data-test-script-state={IDLE_SCRIPT_STATE}]").wait_for()


EXPANDER_IS_OPEN = """(text) => {
  const label = (node) => node.querySelector("summary")?.innerText ?? "";
  const expanders = [...document.querySelectorAll("details")];
  const expander = expanders.find((node) => label(node).includes(text));
  return Boolean(expander?.open) && expander.style.overflow !== "hidden";
}"""


def open_expander(page: Page, text: str) -> None:
    """Open the expander with this text and wait for its animation to end: a click on a moving page
    may hit something else."""
    page.get_by_text(text).click()
    wait_until(page, EXPANDER_IS_OPEN, text)


def wait_until(page: Page, script: str, arg: Any = None, timeout: float = 180) -> None:
    """Wait until this expression, or function of `arg`, is true in the page.

    Playwright's `wait_for_function` needs eval in the page, which the app's policy forbids.

    Raises:
        TimeoutError: if it does not become true in time.
    """
    deadline = time.monotonic() + timeout
    while not page.evaluate(script, arg):
        if time.monotonic() > deadline:
            raise TimeoutError(f"The condition was not true within {timeout} s: {script}.")
        page.wait_for_timeout(20)
