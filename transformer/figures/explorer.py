"""The attention explorer: what the page, a notebook and a file on disk show alike."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from transformer.figures.packing import Part, join
from transformer.figures.side import Side, header, prefixed
from transformer.figures.state import state_of
from transformer.figures.views import page

UNPACK = """
const bytes = async (node) => {
  const packed = Uint8Array.from(atob(node.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};
"""
"""Script that reads what `data_script` wrote."""

_START = """
const view = explorerView(document.body, () => {});
document.querySelector(".hu").classList.add("hu-file");
view.show(await bytes(document.getElementById("hu-first")), (store) => {
  for (const node of document.querySelectorAll("script[data-part]")) {
    const meta = JSON.parse(node.dataset.part);
    store.later.set(meta.name, async () => arrayOf(meta, await bytes(node)));
  }
});
"""


def explorer_data(
    sides: Sequence[Side],
    start: Mapping[str, Any],
    parts: Sequence[Part],
    *,
    visit: int = 0,
    alone: bool = False,
    versus: str = "",
) -> bytes:
    """Everything that one drawing of the explorer needs, as `explorer.js` takes it.

    Args:
        sides: one, or two to compare.
        start: the state, or where it differs from `state.DEFAULTS`. A view that is on screen
            already keeps its own state until `visit` changes.
        parts: weights of layers and vectors of heads, named by `prefixed`.
        alone: one heatmap without anything around it.
        versus: what the second side is, "other" (sentence or checkpoint) or "force" (a
            piece); "refused" if that could not be.

    Raises:
        ValueError: for a state that is none.
    """
    small = [part for i, side in enumerate(sides) for part in prefixed(side.thumbs, i)]
    head = {**header(sides, state_of(start)), "visit": visit, "alone": alone, "versus": versus}
    return join(head, [*small, *parts])


def explorer_page(sides: Sequence[Side], start: Mapping[str, Any], title: str = "Attention") -> str:
    """The explorer as one HTML file: every layer in it, each unpacked when it is looked at."""
    state = sides[0].resolved(state_of(start))
    looked_at = str(state["kind"]), int(state["layer"])
    blocks = [data_script("id", "hu-first", explorer_data(sides, state, []))]
    for number, side in enumerate(sides):
        for part in prefixed(list(side.everything(*looked_at)), number):
            blocks.append(data_script("data-part", json.dumps(part.meta()), part.array.tobytes()))
    return page("explorer", UNPACK + _START, "\n".join(blocks), title)


def data_script(name: str, value: str, data: bytes) -> str:
    """Data in an element that no browser runs. Base 64 and quoted JSON hold no "<"."""
    letters = base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
    quoted = value.replace("&", "&amp;").replace("'", "&#39;")
    return f"<script type=\"text/plain\" {name}='{quoted}'>{letters}</script>"
