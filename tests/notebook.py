"""A notebook in this process: its widgets, and a page in a browser that displays one of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from playwright.sync_api import Page

from transformer.api.notebook import TryWidget

# What anywidget gives to a front-end module. `notebook.pause()` is a kernel that runs another cell.
_FRONT_END = """
async ([script, style, state]) => {
  const listeners = new Map();
  const queue = [];
  let isPaused = false;
  const listenersOf = (name) => listeners.get(name) ?? [];
  const emit = (name, ...values) => listenersOf(name).forEach((listener) => listener(...values));
  const codes = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const viewOf = (text) => new DataView(codes(text).buffer);
  async function transmit(message) {
    if (isPaused) return queue.push(message);
    for (const { data, buffers } of JSON.parse(await kernel(JSON.stringify(message)))) {
      if (data.method === "custom") emit("msg:custom", data.content, buffers.map(viewOf));
      if (data.method === "update") update(data.state);
    }
  }
  const model = {
    get: (name) => state[name],
    set: (name, value) => {
      const isSame = JSON.stringify(state[name]) === JSON.stringify(value);
      state[name] = value;
      if (!isSame) emit(`change:${name}`);
    },
    save_changes: () => transmit({ method: "update", state, buffer_paths: [] }),
    send: (content) => transmit({ method: "custom", content }),
    on: (name, added) => listeners.set(name, [...listenersOf(name), added]),
    off: (name, removed) => listeners.set(name, listenersOf(name).filter((one) => one !== removed)),
  };
  const update = (changes) => {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
  };
  window.notebook = {
    pause: () => { isPaused = true; },
    resume: () => { isPaused = false; queue.splice(0).forEach(transmit); },
    update,
  };
  document.head.append(Object.assign(document.createElement("style"), { textContent: style }));
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  window.notebook.remove = widget.render({ model, el: document.getElementById("cell") });
}
"""


class RecordedComm(BaseComm):
    """The connection of a widget to its front end, which keeps what the widget sends."""

    def __init__(self, **options: Any) -> None:
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        super().__init__(**options)

    def publish_msg(
        self,
        msg_type: str,
        data: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
        buffers: list[bytes] | None = None,
        **options: Any,
    ) -> None:
        self.sent.append((data or {}, buffers or []))

    def receive(self, message: dict[str, Any]) -> list[tuple[dict[str, Any], list[bytes]]]:
        """Handle a message of the front end; return what the widget sends then."""
        self.sent.clear()
        self.handle_msg({"content": {"data": message}, "buffers": []})
        return list(self.sent)


@contextmanager
def notebook_comms() -> Iterator[None]:
    """Connect widgets that are created in the block by a `RecordedComm`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comm, "create_comm", RecordedComm)
        yield


def connection(widget: TryWidget) -> RecordedComm:
    assert isinstance(widget.comm, RecordedComm)
    return widget.comm


def display(page: Page, widget: TryWidget) -> None:
    """Draw the widget in an empty page of its own, as a notebook draws it below a cell."""

    def receive(message: str) -> str:
        sent = connection(widget).receive(json.loads(message))
        return json.dumps(
            [
                {"data": data, "buffers": [base64.b64encode(part).decode() for part in buffers]}
                for data, buffers in sent
            ]
        )

    page.expose_function("kernel", receive)
    page.set_content('<div id="cell"></div>')
    page.evaluate(_FRONT_END, [widget._esm, widget._css, {"address": widget.address}])
