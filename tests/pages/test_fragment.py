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


class EveryReference(frozenset[str]):
    """Set of all references, as if the browser had cached every element."""

    def __contains__(self, _: object) -> bool:
        return True


@contextmanager
def recorded_messages() -> Iterator[Sent]:
    """Record everything that pages send to the browser."""
    collected: Sent = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ForwardMsgQueue, "_before_enqueue_msg", collected.append)
        yield collected


def queued_after_clear(sent: Sent, fragment_id: str) -> Sent:
    """Return the messages left in Streamlit's queue if a fragment reruns before they are sent."""
    queue = ForwardMsgQueue()
    for message in sent:
        queue.enqueue(message)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=[fragment_id])
    return [m for m in queue.flush() if m.HasField("delta") or m.HasField("ref_hash")]


def check_positions(messages: Sent) -> None:
    """Check each element's position as the browser does, which rejects one beyond the next free."""
    tree: dict[tuple[int, ...], int] = {(0,): 0, (1,): 0, (2,): 0, (3,): 0}
    for message in messages:
        *parent, index = message.metadata.delta_path
        parent_path = tuple(parent)
        assert parent_path in tree, f"{[*parent_path, index]}: no element at {parent}"
        assert index <= tree[parent_path], f"{parent}, {index}: there are {tree[parent_path]}"
        tree[parent_path] = max(tree[parent_path], index + 1)
        if message.delta.HasField("add_block"):  # which is never sent as a reference
            tree.setdefault((*parent_path, index), 0)


def fragments(sent: Sent) -> set[str]:
    return {m.delta.fragment_id for m in sent if m.HasField("delta")} - {""}


def home(visit: Visit) -> AppTest:
    return visit("app.py")


def train(visit: Visit) -> AppTest:
    return visit("pages/train.py")


def form(visit: Visit) -> AppTest:
    app = visit("pages/train.py")
    return app.button(key="change-reverse").click().run()


def queued_run(visit: Visit) -> AppTest:
    visit("pages/train.py")  # which creates the folder of runs
    name = live_jobs.jobs().submit(make_run_config("copy"), "visitor-1")
    return visit("pages/train.py", run=name)


def lab(visit: Visit) -> AppTest:
    return visit("pages/lab.py", lab="roles")


def findings(visit: Visit) -> AppTest:
    return visit("pages/findings.py")


def timing(visit: Visit) -> AppTest:
    return visit("pages/why.py", part="time")


PAGES = [home, train, form, queued_run, lab, findings, timing]


def check_fragments(sent: Sent) -> None:
    last = max(index for index, message in enumerate(sent) if message.HasField("navigation"))
    assert fragments(sent[last:])
    for fragment in fragments(sent[last:]):
        check_positions(queued_after_clear(sent[last:], fragment))


@pytest.mark.parametrize("page", PAGES)
def test_no_element_waits_for_a_fragment(page: Callable[[Visit], AppTest], visit: Visit) -> None:
    with recorded_messages() as sent:
        page(visit)
    check_fragments(sent)


@pytest.mark.parametrize("page", PAGES)
def test_no_element_waits_for_a_fragment_that_the_browser_already_has(
    page: Callable[[Visit], AppTest], visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = page(visit)
    reset = ScriptRunContext.reset

    def reset_with_references(self: ScriptRunContext, *args: Any, **options: Any) -> None:
        reset(self, *args, **options)
        self.cached_message_hashes = EveryReference()

    monkeypatch.setattr(ScriptRunContext, "reset", reset_with_references)
    config.set_option("global.minCachedMessageSize", 1.0)
    try:
        with recorded_messages() as sent:
            app.run()
    finally:
        config.set_option("global.minCachedMessageSize", 10_000.0)
    assert any(message.HasField("ref_hash") for message in sent)
    check_fragments(sent)
