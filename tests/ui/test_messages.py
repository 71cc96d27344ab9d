"""No message of one browser stops the server or changes what others see."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from tests.hostile import TEXTS, corrupt_bytes
from tests.live_app import app_server
from tests.websocket_session import Session
from transformer.ui.services.class_updates import PATH

STREAM = "/_stcore/stream"
NUMBERS: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(width=32),
}
WHOLE_NUMBERS = st.integers(0, 2**31 - 1)  # valid in signed and unsigned fields


@st.composite
def messages(draw: st.DrawFn, kind: Descriptor, texts: st.SearchStrategy[str]) -> Any:
    """Return a protobuf message of this kind with some fields set to any values."""
    message = kind._concrete_class()
    for field in draw(st.lists(st.sampled_from([*kind.fields] or [None]), max_size=4)):
        if field is None:
            continue
        if field.message_type is not None:
            value = draw(messages(field.message_type, texts))
            target = getattr(message, field.name)
            target.add().CopyFrom(value) if field.is_repeated else target.CopyFrom(value)
            continue
        if field.type == FieldDescriptor.TYPE_BYTES:
            value = draw(st.binary())
        elif field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            value = draw(texts)
        else:
            value = draw(NUMBERS.get(field.cpp_type, WHOLE_NUMBERS))
        with suppress(ValueError):  # not a value of this enumeration
            if field.is_repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
    return message


@pytest.fixture(scope="module")
def other_visitor(address: str) -> Iterator[Session]:
    with Session(address, "", "depth=steps") as session:
        yield session


@settings(max_examples=25)
@given(data=st.data())
def test_the_server_survives_any_message(
    data: st.DataObject, address: str, other_visitor: Session
) -> None:
    """Widgets get values of wrong types; messages are truncated, or of no known type."""
    ids = [str(getattr(element, "id", "")) for element in other_visitor.elements.values()]
    widget_ids, other_text = [id for id in ids if id], other_visitor.text
    texts = st.sampled_from([*widget_ids, "inside", "../../etc/passwd"]) | TEXTS.filter(
        lambda text: text != "\ud800"  # protobuf itself rejects lone surrogates
    )
    message = data.draw(messages(BackMsg.DESCRIPTOR, texts))
    for id in data.draw(st.lists(st.sampled_from(widget_ids), max_size=3)):
        widget = message.rerun_script.widget_states.widgets.add()
        widget.CopyFrom(data.draw(messages(widget.DESCRIPTOR, texts)))
        widget.id = id
    content = message.SerializeToString()
    payload = data.draw(st.just(content) | corrupt_bytes(content or b"x") | texts)
    path = data.draw(st.sampled_from((STREAM, PATH)))
    with (
        suppress(WebSocketException, OSError),  # the server may close the connection
        connect(f"{address.replace('http', 'ws', 1)}{path}", close_timeout=0.1) as socket,
    ):
        socket.send(payload)
        socket.recv(timeout=0.05)
    other_visitor.rerun()
    assert other_visitor.text == other_text


@pytest.mark.slow
def test_a_text_message_closes_the_connection_without_a_traceback(
    checkpoints: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with app_server(checkpoints, log=log) as (address, _):
        for _ in range(3):
            with Session(address, "glossary") as session:
                session.socket.send("text")
                with pytest.raises(ConnectionClosed):
                    list(session.socket)
                assert session.socket.close_code == 1003
    assert "Traceback" not in log.read_text()
