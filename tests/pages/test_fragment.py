"""A fragment's rerun: elements after it reach the browser in every order of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit
from transformer.training.recipe import make_run_config
from transformer.ui.services import live_jobs

Sent = list[ForwardMsg]


class Everything(frozenset[str]):
    """Return the references that a browser has after it has shown this page."""

    def __contains__(self, _: object) -> bool:
        return True


@contextmanager
def recorded() -> Iterator[Sent]:
    """Record everything that pages send to the browser."""
    collected: Sent = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ForwardMsgQueue, "_before_enqueue_msg", collected.append)
        yield collected


def after(sent: Sent, asks: str) -> Sent:
    """Return Streamlit's state of a page that is not yet sent when its fragment runs."""
    queue = ForwardMsgQueue()
    for message in sent:
        queue.enqueue(message)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=[asks])
    return [m for m in queue.flush() if m.HasField("delta") or m.HasField("ref_hash")]


def drawn(messages: Sent) -> None:
    """Insert each element as the browser does, which rejects a position beyond the next free
    one."""
    tree: dict[tuple[int, ...], int] = {(0,): 0, (1,): 0, (2,): 0, (3,): 0}
    for message in messages:
        *parent, index = message.metadata.delta_path
        within = tuple(parent)
        assert within in tree, f"{[*within, index]}: no element at {parent}"
        assert index <= tree[within], f"{[*within, index]}: there are {tree[within]}"
        tree[within] = max(tree[within], index + 1)
        if message.delta.HasField("add_block"):  # which is never sent as a reference
            tree.setdefault((*within, index), 0)


def fragments(sent: Sent) -> set[str]:
    return {m.delta.fragment_id for m in sent if m.HasField("delta")} - {""}


def home(visit: Visit) -> AppTest:
    return visit("app.py")


def ideas(visit: Visit) -> AppTest:
    return visit("pages/train.py")


def form(visit: Visit) -> AppTest:
    app = visit("pages/train.py")
    return app.button(key="change-reverse").click().run()


def a_run(visit: Visit) -> AppTest:
    visit("pages/train.py")  # which creates the folder of runs
    name = live_jobs.jobs().submit(make_run_config("copy"), "visitor-1")
    return visit("pages/train.py", run=name)


def lab(visit: Visit) -> AppTest:
    return visit("pages/lab.py", lab="roles")


def findings(visit: Visit) -> AppTest:
    return visit("pages/findings.py")


def timing(visit: Visit) -> AppTest:
    return visit("pages/why.py", part="time")


PAGES = [home, ideas, form, a_run, lab, findings, timing]


def held(sent: Sent) -> None:
    last = max(index for index, message in enumerate(sent) if message.HasField("navigation"))
    assert fragments(sent[last:])
    for fragment in fragments(sent[last:]):
        drawn(after(sent[last:], fragment))


@pytest.mark.parametrize("page", PAGES)
def test_no_element_waits_for_a_fragment(page: Callable[[Visit], AppTest], visit: Visit) -> None:
    with recorded() as sent:
        page(visit)
    held(sent)


@pytest.mark.parametrize("page", PAGES)
def test_no_element_waits_for_a_fragment_that_the_browser_already_has(
    page: Callable[[Visit], AppTest], visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = page(visit)
    reset = ScriptRunContext.reset

    def remembered(self: ScriptRunContext, *args: Any, **more: Any) -> None:
        reset(self, *args, **more)
        self.cached_message_hashes = Everything()

    monkeypatch.setattr(ScriptRunContext, "reset", remembered)
    config.set_option("global.minCachedMessageSize", 1.0)
    try:
        with recorded() as sent:
            app.run()
    finally:
        config.set_option("global.minCachedMessageSize", 10_000.0)
    assert any(message.HasField("ref_hash") for message in sent)
    held(sent)
