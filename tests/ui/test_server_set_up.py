"""What is set where the server begins: threads of torch, and messages that leave at once."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.runtime.scriptrunner import script_runner
from streamlit.testing.v1 import AppTest

from transformer.ui.pages import BY_PATH
from transformer.ui.server import known_pages, without_delay

PROGRAM = """
import threading, torch
told, go = [], threading.Event()
def late():
    go.wait()
    (torch.ones(300, 300) @ torch.ones(300, 300)).sum()
    told.append(torch.get_num_threads())
early = threading.Thread(target=late)
early.start()
session = threading.Thread(target=lambda: __import__("transformer.ui.frame"))
session.start()
session.join()
go.set()
early.join()
after = threading.Thread(target=late)
after.start()
after.join()
print(*told)
"""

SERVER = "import app, torch; print(torch.get_num_threads())"
ROOT = Path(__file__).resolve().parents[2]


def test_every_session_computes_with_one_thread() -> None:
    """A thread that was there before, and one that comes after the first session imported us."""
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["1", "1"]


def test_the_server_sets_it_before_there_is_a_session() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    found = subprocess.run(
        [sys.executable, "-c", SERVER], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["1"]


@pytest.mark.parametrize("family", without_delay.FAMILIES)
def test_a_connection_on_a_socket_that_names_no_protocol(family: socket.AddressFamily) -> None:
    """As Streamlit binds it; on asyncio's own there is no delay anyway."""
    try:
        bound = socket.socket(family)
        bound.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
    except OSError:
        pytest.skip("this machine has no such addresses")
    assert bound.proto == 0
    assert asyncio.run(_option_of_who_comes_to(bound)) != 0


async def _option_of_who_comes_to(bound: socket.socket) -> int:
    found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def came(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made = writer.get_extra_info("socket")
        found.set_result(made.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(came, sock=bound):
        _, writer = await asyncio.open_connection(*bound.getsockname()[:2])
        option = await found
        writer.close()
        await writer.wait_closed()
    return option


def test_other_sockets_are_left_alone() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        without_delay._set_nodelay(datagrams)
    if hasattr(socket, "AF_UNIX"):
        with socket.socket(socket.AF_UNIX) as local:
            without_delay._set_nodelay(local)


def test_the_server_begins_with_it() -> None:
    program = (
        "import app; from asyncio import base_events; print(base_events._set_nodelay.__module__)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [without_delay.__name__]


def test_every_page_of_the_app_is_known_by_its_path() -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not app.exception
    pages = known_pages._pages(str(ROOT / "app.py"))
    assert {page.url_path for page in pages} == {*BY_PATH}
    assert [page.url_path for page in pages if page._default] == [""]


def test_pages_are_looked_for_once_and_each_drawing_has_its_own(tmp_path: Path) -> None:
    assert script_runner._mpa_v1 is known_pages._run_page
    (tmp_path / "pages").mkdir()
    main = tmp_path / "main.py"
    main.write_text("import streamlit as st\nst.write('the first')\n")
    (tmp_path / "pages" / "other.py").write_text("import streamlit as st\nst.write('the other')\n")
    app = AppTest.from_file(str(main)).run()
    for _ in range(2):  # a page may be run once: it would say so if the drawings shared it
        assert app.switch_page("pages/other.py").run().markdown[0].value == "the other"
        assert app.switch_page("main.py").run().markdown[0].value == "the first"
        assert not app.exception
    first = known_pages._pages(str(main))
    assert known_pages._pages(str(main)) is first
    assert not any(page._can_be_called for page in first)
