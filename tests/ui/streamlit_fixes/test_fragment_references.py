"""A fragment's rerun keeps its elements even if the browser has cached them.

`test_streamlit_alone_loses_a_cached_element` shows the bug; once it fails, delete the fix.
"""

from __future__ import annotations

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from transformer.ui.base.streamlit_fixes.fragment_references import without_references

FRAGMENT = "fragment"


def _queue_with_element(cached: bool) -> ForwardMsgQueue:
    """Return the queue after a page's first run: one element of a fragment, complete or cached."""
    message = ForwardMsg()
    message.metadata.delta_path[:] = [0, 0]
    if cached:
        message.ref_hash = "hash"
    else:
        message.delta.fragment_id = FRAGMENT
        message.delta.new_element.text.body = "text"
    queue = ForwardMsgQueue()
    queue.enqueue(message)
    return queue


@pytest.mark.parametrize("cached", [False, True])
def test_streamlit_alone_loses_a_cached_element(cached: bool) -> None:
    """The rerun does not redraw the reference's position, yet the reference stays."""
    queue = _queue_with_element(cached)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=[FRAGMENT])
    assert len(queue.flush()) == int(cached)


def test_outside_a_script_run_the_fix_does_nothing() -> None:
    with without_references():
        pass
