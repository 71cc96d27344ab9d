"""Reruns of fragments: the browser can place every element, even if messages have been dropped."""

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

Messages = list[ForwardMsg]


class EveryReference(frozenset[str]):
    """Set of all references, as if the browser had cached every element."""

    def __contains__(self, _: object) -> bool:
        return True


@contextmanager
def recorded_messages() -> Iterator[Messages]:
    """Record everything that pages send to the browser."""
    messages: Messages = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ForwardMsgQueue, "_before_enqueue_msg", messages.append)
        yield messages


def queued_after_clear(messages: Messages, fragment_id: str) -> Messages:
    """Return the messages left in Streamlit's queue if a fragment reruns before they are sent."""
    queue = ForwardMsgQueue()
    for message in messages:
        queue.enqueue(message)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=[fragment_id])
    return [m for m in queue.flush() if m.HasField("delta") or m.HasField("ref_hash")]


def check_positions(messages: Messages) -> None:
    """Check every position as the browser does: its parent exists and there is no gap before it."""
    tree: dict[tuple[int, ...], int] = {(0,): 0, (1,): 0, (2,): 0, (3,): 0}
    for message in messages:
        *parent, index = message.metadata.delta_path
        parent_path = tuple(parent)
        assert parent_path in tree, f"{[*parent_path, index]}: no element at {parent}"
        assert index <= tree[parent_path], f"{parent}, {index}: there are {tree[parent_path]}"
        tree[parent_path] = max(tree[parent_path], index + 1)
        if message.delta.HasField("add_block"):  # a container, which is never sent as a reference
            tree.setdefault((*parent_path, index), 0)


def fragments(messages: Messages) -> set[str]:
    return {m.delta.fragment_id for m in messages if m.HasField("delta")} - {""}


def home(visit: Visit) -> AppTest:
    return visit("app.py")


def queued_run(visit: Visit) -> AppTest:
    visit("pages/train.py")  # creates the folder of runs
    name = live_jobs.jobs().submit(make_run_config("copy"), "visitor-1")
    return visit("pages/train.py", run=name)


def roles(visit: Visit) -> AppTest:
    return visit("pages/research.py", experiment="roles")


def findings(visit: Visit) -> AppTest:
    return visit("pages/research.py", experiment="findings")


PAGES = [home, queued_run, roles, findings]


def check_fragments(messages: Messages) -> None:
    start = max(index for index, message in enumerate(messages) if message.HasField("navigation"))
    assert fragments(messages[start:])
    for fragment in fragments(messages[start:]):
        check_positions(queued_after_clear(messages[start:], fragment))


@pytest.mark.parametrize("page", PAGES)
def test_elements_can_be_placed_while_a_fragment_reruns_also_a_cached_one(
    page: Callable[[Visit], AppTest], visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recorded_messages() as messages:
        app = page(visit)
    check_fragments(messages)
    reset = ScriptRunContext.reset

    def reset_with_references(self: ScriptRunContext, *args: Any, **options: Any) -> None:
        reset(self, *args, **options)
        self.cached_message_hashes = EveryReference()

    monkeypatch.setattr(ScriptRunContext, "reset", reset_with_references)
    config.set_option("global.minCachedMessageSize", 1.0)
    try:
        with recorded_messages() as messages:
            app.run()
    finally:
        config.set_option("global.minCachedMessageSize", 10_000.0)
    assert any(message.HasField("ref_hash") for message in messages)
    check_fragments(messages)
