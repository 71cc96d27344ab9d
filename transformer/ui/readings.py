"""A sentence read by the model: computed once, kept while there is room, shared by all sessions."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock, Semaphore

import numpy as np
import streamlit as st

from transformer.figures import Labels, pack
from transformer.inference import Trace
from transformer.ui.address import View
from transformer.ui.models import Model

TITLES = {
    "encoder": "Encoder self-attention",
    "decoder": "Masked decoder self-attention",
    "cross": "Encoder–decoder attention",
}
ROOM = 96_000_000
"""Bytes of readings that are kept. The newest is kept even if it is larger alone."""


class Reading:
    """A trace of the attention weights, and the views made of it so far."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._packed: dict[str, bytes] = {}

    @property
    def size(self) -> int:
        """Bytes, roughly, with all views made: they take at most half of what the weights do."""
        return sum(self.trace[name].nbytes for name in self.trace.names) * 3 // 2

    def packed(self, kind: str) -> bytes:
        """All heads of one kind as the browser's view takes them."""
        if kind not in self._packed:
            rows, columns = self.trace.labels(kind)
            labels = Labels(
                rows,
                columns,
                writes=None if kind == "encoder" else self.trace.predicted_tokens,
                kind=kind,
                title=TITLES[kind],
                causal=kind == "decoder",
            )
            weights = [self.trace.weights(kind, layer) for layer in range(self.trace.n_layers)]
            self._packed[kind] = pack(weights, labels)
        return self._packed[kind]

    def clearest_head(self, kind: str) -> tuple[int, int]:
        """Layer and head that look most decidedly at every token in turn: where the greatest weight
        of a column, averaged over the columns, is greatest. For a first look, nothing more."""
        weights = np.stack([self.trace.weights(kind, i) for i in range(self.trace.n_layers)])
        marks = weights.max(axis=2).mean(axis=2)
        layer, head = np.unravel_index(int(marks.argmax()), marks.shape)
        return int(layer), int(head)


class Recent:
    """Readings by key; those that were not asked for longest make room for new ones."""

    def __init__(self, room: int = ROOM) -> None:
        self._room, self._lock = room, Lock()
        self._kept: OrderedDict[Hashable, Reading] = OrderedDict()

    def get(self, key: Hashable) -> Reading | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, reading: Reading) -> None:
        with self._lock:
            self._kept[key] = reading
            while len(self._kept) > 1 and sum(r.size for r in self._kept.values()) > self._room:
                self._kept.popitem(last=False)


class Turn:
    """Of one session's reruns only the newest computes, and one at a time.

    Dragging a slider starts a rerun for every place it passes; Streamlit lets those that are
    computing run to their end. Here an older one that waited stops when its turn comes.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self._newest = 0

    def draw(self) -> int:
        """A number for this rerun; all before it are out of date."""
        self._newest += 1
        return self._newest

    def check(self, number: int) -> None:
        """Ends this rerun if there is a newer one."""
        if number != self._newest:
            st.stop()


_recent = Recent()
_workers = Semaphore(os.cpu_count() or 1)


def read(model: Model, view: View) -> Reading:
    """Translate and trace the view's sentence.

    Raises:
        ValueError: if it is empty, too long, or the options do not fit.
    """
    options = view.decoding()
    key = (model.hash, view.text, *sorted(options.items()))
    turn: Turn = st.session_state.setdefault("turn", Turn())
    number = turn.draw()
    found = _recent.get(key)
    if found is not None:
        return found
    with turn.lock:
        turn.check(number)
        with _workers:
            turn.check(number)
            found = _recent.get(key)  # another session may have asked for the same meanwhile
            if found is None:
                found = Reading(_trace(model, view.text, options))
                _recent.put(key, found)
    return found


def _trace(model: Model, text: str, options: dict[str, object]) -> Trace:
    names = [name for name in model.translator.model.hook_names if name.endswith("hook_weights")]
    return model.translator.trace(text, names=names, **options)  # type: ignore[arg-type]
