"""The server as `streamlit run app.py` starts it, and its behaviour before the first visit."""

from __future__ import annotations

import http.client
import signal
import socket
import sys
import time
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import streamlit as st
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.jobs.conftest import idle_jobs
from tests.live_app import app_server
from tests.websocket_session import Session
from transformer.api.visitors import COOKIE, new_id
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import RunInfo, read_run_info
from transformer.jobs.worker_pool import WorkerPool
from transformer.training.recipe import make_run_config
from transformer.ui.server import asgi
from transformer.ui.services import live_jobs, shared

SMALL_MODEL = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32, "precision": "fp32"}
STREAM = "/_stcore/stream"
STEPS = 300
TIMEOUT_SECONDS = 180.0  # long enough for a busy machine


def get(address: str, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """Return status, headers and text of a response."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    text = response.read().decode(errors="replace")
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, text


def test_pages_assets_and_errors_have_the_headers(address: str) -> None:
    script = get(address, "/", Accept="text/html")[2].split('src="./static/')[1].split('"')[0]
    for path in ("/", "/train", "/_stcore/health", f"/static/{script}", "/media/none", "/a//..//b"):
        _, headers, _ = get(address, path)
        assert "frame-ancestors 'self'" in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "same-origin", path
    assert "'sha256-" in headers["content-security-policy"]
    assert get(address, "/_stcore/metrics")[0] == 404


def test_another_host_or_origin_gets_no_page_and_no_session(address: str) -> None:
    port = urlsplit(address).port
    assert get(address, "/", Host=f"evil.example:{port}")[0] == 421
    connection = socket.create_connection(("localhost", port))
    with (
        connection,
        pytest.raises(InvalidStatus),
        connect(f"ws://evil.example:{port}{STREAM}", sock=connection),
    ):
        pass
    stream = address.replace("http", "ws", 1) + STREAM
    # Streamlit itself accepts pages of any server on this machine.
    with pytest.raises(InvalidStatus), connect(stream, origin=Origin("http://localhost:1")):
        pass
    with connect(stream, origin=Origin(address)):
        pass


def test_the_names_in_the_environment_variable_are_accepted(address: str) -> None:
    """docs/hosting.md starts a container with this variable; the error message names it too."""
    port = urlsplit(address).port
    for name in ("class.example.org", f"class.example.org:{port}", "192.168.1.20", "localhost"):
        assert get(address, "/", Host=name)[0] == 200, name
    status, _, text = get(address, "/", Host=f"other.example.org:{port}")
    assert status == 421
    assert f"'other.example.org:{port}'" in text
    assert "STREAMLIT_SERVER_ALLOWED_HOSTS=other.example.org " in text


@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is this machine on Linux alone")
def test_the_ip_addresses_of_this_machine_are_accepted(address: str) -> None:
    other_address = address.replace("localhost", "127.0.0.2")
    assert get(other_address, "/")[0] == 200
    with Session(other_address, "train") as visitor:
        assert visitor.elements
    assert get(other_address, "/", Host="127.0.0.3")[0] == 421


def test_the_cookie_identifies_the_session(address: str) -> None:
    visitor_id = new_id()
    cookie = get(address, "/train", Accept="text/html", Cookie=f"{COOKIE}={visitor_id}")[1][
        "set-cookie"
    ]
    assert cookie.startswith(f"{COOKIE}={visitor_id};")
    assert "HttpOnly" in cookie


def queued_run(runs: Path, steps: int) -> JobFolder:
    """Return a queued run that no worker has claimed."""
    options = {"n_train": 400, "n_valid": 20}
    config = make_run_config(
        "copy", settings={**SMALL_MODEL, "steps": steps}, options=options, title="Copy"
    )
    jobs = idle_jobs(runs)
    return jobs.folder(jobs.submit(config, "me"))


def wait_for_status(run: JobFolder, status: str, step: int = 0) -> RunInfo:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        info = read_run_info(run)
        assert info is not None
        if info.status == status and info.step >= step:
            return info
        time.sleep(0.01)
    pytest.fail(f"still {read_run_info(run)}")


@pytest.mark.slow
def test_queued_runs_resume_after_a_restart_without_visitors(
    checkpoints: Path, tmp_path: Path
) -> None:
    """The server is killed or stopped during a run, then restarted at once."""
    limits = tmp_path / "limits.toml"
    limits.write_text("nice = 0")  # so that runs make progress on a busy machine
    environment = {"HEADS_UP_RUNS": str(tmp_path / "runs"), "HEADS_UP_LIMITS": str(limits)}
    run = queued_run(tmp_path / "runs", STEPS)
    for signal_number in (signal.SIGKILL, signal.SIGTERM):
        step = run.last_step()
        with app_server(checkpoints, **environment) as (_, process):
            wait_for_status(run, "running", step + 10)
            process.send_signal(signal_number)
            process.wait(30)
    # A stopping server waits until its runs are saved.
    assert wait_for_status(run, "queued").step >= 20
    second_run = queued_run(tmp_path / "runs", 5)
    with app_server(checkpoints, **environment):
        assert wait_for_status(run, "finished").step == STEPS
        wait_for_status(second_run, "finished")
    losses = [line["step"] for line in run.metrics() if "loss" in line]
    assert losses == [*range(1, STEPS + 1)]


def test_workers_start_only_for_queued_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker takes some hundred megabytes, which a server without training does not need."""
    started: list[bool] = []
    monkeypatch.setattr(WorkerPool, "start", lambda self: started.append(True))
    monkeypatch.setattr(live_jobs, "machine_memory", lambda: 1e9)
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path))
    try:
        live_jobs.resume_runs()
        live_jobs.jobs()  # as a page does; with enough memory this starts a worker in advance
        assert not started
        queued_run(tmp_path, 5)
        live_jobs.resume_runs()
        assert started
    finally:
        shared.close_all()


@pytest.mark.parametrize(
    ("server_address", "expected"),
    [
        ("localhost", ["http://localhost:8501"]),
        ("0.0.0.0", ["http://localhost:8501", "http://192.168.1.20:8501"]),
        ("fe80::1", ["http://[fe80::1]:8501"]),
    ],
)
def test_the_addresses_are_printed_and_the_first_is_opened(
    server_address: str,
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    opened_urls: list[str] = []
    options = {
        "server.address": server_address,
        "server.headless": False,
        "browser.serverPort": 8501,
    }
    monkeypatch.setattr(st, "get_option", options.get)
    monkeypatch.setattr(asgi, "network_address", lambda: "192.168.1.20")
    monkeypatch.setattr(webbrowser, "open", opened_urls.append)
    asgi._announce()
    assert [word for word in capsys.readouterr().out.split() if "//" in word] == expected
    assert opened_urls == expected[:1]
