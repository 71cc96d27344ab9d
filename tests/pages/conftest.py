"""Run a page as a browser session does, without a browser."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

import transformer.ui.pages  # noqa: F401 - registers the pages
from tests.jobs.conftest import IdleExecutor
from tests.pages.in_process import in_process_executor
from transformer.figures.packing import unpack
from transformer.jobs import Jobs, Limits
from transformer.jobs.worker_pool import WorkerPool
from transformer.ui.base.registry import PAGES, make_view
from transformer.ui.base.streamlit_fixes import install
from transformer.ui.services import live_jobs, memory_cache, shared
from transformer.ui.services.live_jobs import computation_service
from transformer.ui.widgets.frame import WORD_JOINER

ROOT = Path(__file__).resolve().parents[2]
Visit = Callable[..., AppTest]
TEACHER_TOKEN = "teacher-token-for-tests"
TEXT_KINDS = ("markdown", "caption", "header", "subheader", "info", "warning", "html")


def run_program(code: str) -> dict[str, Any]:
    """Run Python code that a page shows, in the folder to which its paths are relative.

    It must print something. Returns its variables, and the output as "printed"."""
    namespace: dict[str, Any] = {}
    with (
        contextlib.chdir(Path(os.environ["HEADS_UP_CHECKPOINTS"]).parent),
        contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
        exec(compile(code, "shown", "exec"), namespace)
    assert printed.getvalue()
    return namespace | {"printed": printed.getvalue()}


FRAME = ("frame", "lesson")


def browser_views(app: AppTest) -> list[Any]:
    """Return the page's browser views without those of the frame and the lesson."""
    excluded = tuple(f"heads_up.{name}" for name in FRAME)
    views = app.get("bidi_component")
    return [view for view in views if not view.proto.component_name.endswith(excluded)]


def component_data(app: AppTest) -> list[Any]:
    """Return the data of the page's browser views: the explorer's header, or a dict."""
    protos = [element.proto for element in browser_views(app)]
    return [unpack(p.bytes)[0] if p.bytes else json.loads(p.json) for p in protos]


def visible_text(app: AppTest, *, kinds: Sequence[str] = TEXT_KINDS) -> str:
    """Return the text of all elements of these kinds, without Markdown escapes."""
    elements = [(kind, element) for kind in kinds for element in app.get(kind)]
    parts = [element.proto.body if kind == "html" else element.value for kind, element in elements]
    return "\n".join(parts).replace("\\", "")


def charts(app: AppTest) -> list[dict[str, Any]]:
    """Return the Plotly figures on the page."""
    return [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]


def send_choice(app: AppTest, key: str, **choice: Any) -> AppTest:
    """Send a choice in the browser view with this key, and rerun the page."""
    [proto] = [
        element.proto
        for element in app.get("bidi_component")
        if element.proto.id.endswith(f"-{key}")
    ]
    assert app._tree is not None
    states = app._tree.get_widget_states()
    states.widgets.add(
        id=f"$$STREAMLIT_INTERNAL_KEY_{proto.id}__events",
        json_trigger_value=json.dumps([{"event": "choice", "value": choice}]),
    )
    app._run(states)
    assert not app.exception, app.exception[0].message
    return app


def named_data(app: AppTest, name: str) -> Any:
    """Return the data of the one browser view with this name."""
    [proto] = [
        element.proto
        for element in app.get("bidi_component")
        if element.proto.component_name == f"heads_up.{name}"
    ]
    return json.loads(proto.json)


def numbers(value: Any) -> Any:
    """Decode an array as Plotly sends it: a list, or base 64 with its dtype."""
    if isinstance(value, list):
        return np.array(value)
    array = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
    return array.reshape([int(side) for side in str(value.get("shape", array.size)).split(",")])


def button(app: AppTest, label: str, number: int = 0) -> Any:
    """Return the button with this label, or one of several by its number."""
    return [element for element in app.button if element.label == label][number]


def measure(app: AppTest, label: str, status: str = "done") -> None:
    """Click this button and wait for the process that it starts."""
    clicked = button(app, label)
    clicked.click().run()
    key = str(clicked.key).removeprefix("start-")
    deadline = time.monotonic() + 100
    while computation_service().status(key).live and time.monotonic() < deadline:
        time.sleep(0.02)
    assert computation_service().status(key).status == status
    app.run()
    assert not app.exception


def download_labels(app: AppTest) -> list[str]:
    """Return the labels of the download links on the page."""
    html = "\n".join(element.proto.body for element in app.get("html"))
    return re.findall(r'<a class="hu-download[^>]*>(.*?)</a>', html)


def messages(app: AppTest) -> list[str]:
    """Return the texts of all warnings and errors."""
    return [
        box.value.replace("\\", "").replace(WORD_JOINER, "") for box in [*app.warning, *app.error]
    ]


def view(app: AppTest) -> Any:
    """Return the session's view with the fields of the open page."""
    return make_view(PAGES[app.session_state["page"]].view, app.session_state["view"])


@pytest.fixture(scope="session", autouse=True)
def streamlit_fixes() -> None:
    """Apply the fixes of `app.py`, which does not run when `AppTest` opens another page."""
    install()


@pytest.fixture(scope="session", autouse=True)
def no_component_search() -> Iterator[None]:
    """Stop each test's app from searching every installed package for components."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", list)
        yield


def open_address(app: AppTest, **params: str) -> AppTest:
    """Open an address with these changes in the same session."""
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, app.exception[0].message
    return app


@pytest.fixture
def visit(checkpoints: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Visit]:
    """Open a page in a new session without runs, by its own address: "app.py?depth=heads"."""
    monkeypatch.setattr(live_jobs, "WorkerPool", in_process_executor)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("HEADS_UP_RUNS", str(tmp_path / "runs"))

    def open_page(page: str, folder: Path = checkpoints, **params: str) -> AppTest:
        monkeypatch.setenv("HEADS_UP_CHECKPOINTS", str(folder))
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
        file, _, query = page.partition("?")
        if file != "app.py":
            app.switch_page(file)
        return open_address(app, **dict(parse_qsl(query)), **params)

    yield open_page
    shared.close_all()
    st.cache_resource.clear()
    memory_cache.results.clear()


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    file = tmp_path / "limits.toml"
    file.write_text(f'teacher_token = "{TEACHER_TOKEN}"\nclass_members = 2\n')
    monkeypatch.setenv("HEADS_UP_LIMITS", str(file))
    return TEACHER_TOKEN


@pytest.fixture
def computing_process(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the page's computations in a separate process, as the app does."""
    monkeypatch.setattr(live_jobs, "WorkerPool", WorkerPool)


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """Return jobs with a low limit whose runs stay queued."""
    limits = Limits(workers=1, parameters=1_000_000, upload_bytes=2000, runs_per_visitor=3)
    service = Jobs(tmp_path / "runs", limits, executor=lambda queue: IdleExecutor())
    monkeypatch.setattr(live_jobs, "jobs", lambda: service)
    return service
