"""Reruns of fragments: the browser can place every element, even if messages have been dropped."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import ROOT, Visit
from transformer.training.recipe import make_run_config
from transformer.ui.services import live_jobs

Messages = list[ForwardMsg]


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
    return [m for m in queue.flush() if m.HasField("delta")]


def check_positions(messages: Messages) -> None:
    """Check every position as the browser does: its parent exists and there is no gap before it."""
    tree: dict[tuple[int, ...], int] = {(0,): 0, (1,): 0, (2,): 0, (3,): 0}
    for message in messages:
        *parent, index = message.metadata.delta_path
        parent_path = tuple(parent)
        assert parent_path in tree, f"{[*parent_path, index]}: no element at {parent}"
        assert index <= tree[parent_path], f"{parent}, {index}: there are {tree[parent_path]}"
        tree[parent_path] = max(tree[parent_path], index + 1)
        if message.delta.HasField("add_block"):
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
def test_elements_can_be_placed_while_a_fragment_reruns(
    page: Callable[[Visit], AppTest], visit: Visit
) -> None:
    with recorded_messages() as messages:
        page(visit)
    check_fragments(messages)


def test_the_app_never_sends_a_reference_to_a_cached_element() -> None:
    """Streamlit drops a fragment's references when it clears its queue."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["global"]["minCachedMessageSize"] > 1000 * settings["server"]["maxUploadSize"]
