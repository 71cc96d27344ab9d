"""The news of a class over a real socket: who hears what, and who hears nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from benchmarks.browser import served
from benchmarks.sessions import Session, joined
from transformer.ui.shell.class_news import CLASS_OVER_CODE, MAX_TABS, PATH
from transformer.ui.shell.visitor import COOKIE, new_id

TOKEN = "a token of the test's"
Served = tuple[str, subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def server(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("news")
    (folder / "limits.toml").write_text(f'teacher_token = "{TOKEN}"\n')
    given = {"HEADS_UP_LIMITS": f"{folder}/limits.toml", "HEADS_UP_RUNS": f"{folder}/runs"}
    with served(checkpoints, **given) as found:
        yield found


def open_class(address: str) -> tuple[str, str]:
    """Its teacher and its code."""
    teacher = new_id()
    with Session(address, "class", "", teacher) as page:
        page.fill("Token", TOKEN)
        page.click("Open a class")
        code = next(line for line in page.text.splitlines() if len(line) == 7 and line[3] == " ")
    return teacher, code.replace(" ", "")


def student(address: str, code: str) -> str:
    found = new_id()
    with Session(address, "class", f"code={code}", found) as page:
        page.click("Join")
        assert "You are in the class of" in page.text
    return found


def heard(news: ClientConnection) -> dict[str, Any]:
    return dict(json.loads(news.recv(timeout=30)))


def code_of_close(news: ClientConnection) -> int:
    with suppress(ConnectionClosed):
        for _ in range(20):
            news.recv(timeout=30)
    assert news.close_code is not None
    return news.close_code


def test_a_change_is_one_small_message_and_one_s_own(server: Served) -> None:
    address, _ = server
    teacher, code = open_class(address)
    ann, bob = student(address, code), student(address, code)
    with joined(address, PATH, ann) as hers, joined(address, PATH, bob) as his:
        assert heard(hers)["state"] == heard(his)["state"] == "alone"
        with Session(address, "inside", "", teacher) as page:
            news = heard(hers)
            assert (news["state"], news["page"]) == ("follows", "inside")
            assert heard(his) == news
            page.page = "why"
            page.rerun()
            assert heard(hers)["page"] == "why"
            page.rerun()  # nothing has changed
            page.page = "translate"
            page.rerun()
            written = hers.recv(timeout=30)
            assert json.loads(written)["page"] == "translate"
            assert len(written) < 300
        with joined(address, PATH, teacher) as theirs:
            assert heard(theirs) == {"following": 2, "members": 2}
            hers.close()
            assert heard(theirs) == {"following": 1, "members": 2}


@pytest.mark.parametrize(
    "visitor", ["", "nobody", new_id()], ids=["nobody", "no visitor", "in no class"]
)
def test_who_is_in_no_class_hears_nothing(server: Served, visitor: str) -> None:
    with joined(server[0], PATH, visitor) as news:
        assert code_of_close(news) == CLASS_OVER_CODE


def test_a_page_of_another_site_hears_nothing(server: Served) -> None:
    address, _ = server
    ann = student(address, open_class(address)[1])
    url = address.replace("http", "ws", 1) + PATH
    cookie = {"Cookie": f"{COOKIE}={ann}"}
    elsewhere = Origin("https://evil.example")
    with pytest.raises(InvalidStatus), connect(url, origin=elsewhere, additional_headers=cookie):
        pass
    with connect(url, origin=Origin(address), additional_headers=cookie) as news:
        assert heard(news)["state"] == "alone"


def test_whoever_speaks_is_hung_up_on(server: Served) -> None:
    ann = student(server[0], open_class(server[0])[1])
    with joined(server[0], PATH, ann) as news:
        heard(news)
        news.send("x" * 100_000)
        assert code_of_close(news) == CLASS_OVER_CODE


def test_of_too_many_tabs_the_oldest_goes(server: Served) -> None:
    ann = student(server[0], open_class(server[0])[1])
    with ExitStack() as opened:
        tabs = [opened.enter_context(joined(server[0], PATH, ann)) for _ in range(MAX_TABS)]
        for news in tabs:
            heard(news)
        heard(opened.enter_context(joined(server[0], PATH, ann)))
        assert code_of_close(tabs[0]) == CLASS_OVER_CODE


def test_closing_the_class_is_heard_and_who_left_hears_no_more(server: Served) -> None:
    address, _ = server
    teacher, code = open_class(address)
    ann, bob = student(address, code), student(address, code)
    with joined(address, PATH, ann) as hers, joined(address, PATH, bob) as his:
        heard(hers)
        heard(his)
        with Session(address, "class", "", bob) as page:
            page.click("Leave the class")
        assert code_of_close(his) == CLASS_OVER_CODE
        with Session(address, "class", "", teacher) as page:
            page.click("End the class")
        assert code_of_close(hers) == CLASS_OVER_CODE


def test_open_sockets_keep_no_server_from_its_end(checkpoints: Path, tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(f'teacher_token = "{TOKEN}"\n')
    given = {
        "HEADS_UP_LIMITS": f"{tmp_path}/limits.toml",
        "HEADS_UP_RUNS": f"{tmp_path}/runs",
    }
    with served(checkpoints, **given) as (address, process):
        ann = student(address, open_class(address)[1])
        with joined(address, PATH, ann) as news:
            heard(news)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(30)
            assert time.monotonic() - began < 20
            assert code_of_close(news) != CLASS_OVER_CODE  # so that the browser comes again
