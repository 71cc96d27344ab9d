"""Readings are computed once, kept within their room, and for a session's newest rerun alone."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from transformer import Translator
from transformer.figures import unpack
from transformer.figures.packing import rounding_error
from transformer.ui.readings import Reading, Recent, Turn


@pytest.fixture(scope="module")
def reading(checkpoints: Path) -> Reading:
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    return Reading(translator.trace("The baker paints a boat.", target="Le boulanger cache."))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_view_holds_the_weights_of_every_layer_and_their_labels(
    reading: Reading, kind: str
) -> None:
    found = unpack(reading.packed(kind))
    rows, columns = reading.trace.labels(kind)
    assert (found.header["rows"], found.header["columns"]) == ([*rows], [*columns])
    assert found.header["causal"] == (kind == "decoder")
    written = None if kind == "encoder" else [*reading.trace.predicted_tokens]
    assert found.header["writes"] == written
    for layer in range(reading.trace.n_layers):
        weights = reading.trace.weights(kind, layer)
        np.testing.assert_allclose(found.weights[layer], weights, atol=rounding_error(1.0, 65535))


def test_the_clearest_head_is_the_one_that_looks_at_each_token_most(reading: Reading) -> None:
    marks = {}
    for layer in range(reading.trace.n_layers):
        for head, weights in enumerate(reading.trace.weights("cross", layer)):
            marks[layer, head] = sum(max(column) for column in weights.T.tolist())
    assert reading.clearest_head("cross") == max(marks, key=lambda place: marks[place])


def test_old_readings_make_room_and_the_newest_always_stays(reading: Reading) -> None:
    recent = Recent(room=2 * reading.size)
    for key in ("a", "b"):
        recent.put(key, reading)
    assert recent.get("a") is reading  # asked for: now "b" is the oldest
    recent.put("c", reading)
    assert [recent.get(key) is reading for key in "abc"] == [True, False, True]
    tight = Recent(room=1)
    tight.put("large", reading)
    assert tight.get("large") is reading


def test_the_room_counts_what_a_reading_really_holds(reading: Reading) -> None:
    held = sum(reading.trace[name].nbytes for name in reading.trace.names)
    packed = sum(len(reading.packed(kind)) for kind in ("encoder", "decoder", "cross"))
    assert held < reading.size
    assert reading.size >= 0.8 * (held + packed)


def test_of_many_reruns_only_the_newest_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    monkeypatch.setattr(st, "stop", stop)
    turn, done = Turn(), []

    def rerun(number: int) -> None:
        try:
            with turn.lock:
                turn.check(number)
                done.append(number)
        except Stopped:
            pass

    numbers = [turn.draw() for _ in range(5)]
    threads = [threading.Thread(target=rerun, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [numbers[-1]]
