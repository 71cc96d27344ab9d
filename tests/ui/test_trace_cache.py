"""Readings are computed once, kept within their room, and for a session's newest rerun alone."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from transformer import Translator
from transformer.cancellation import cancelled_by
from transformer.inference.decoding import SequenceDecoder
from transformer.ui.address import View
from transformer.ui.services import models, trace_cache
from transformer.ui.services.memory_cache import SizedCache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import (
    MAX_BYTES,
    CachedTrace,
    NewestRerun,
    RerunCancellation,
)


@pytest.fixture(scope="module")
def reading(checkpoints: Path) -> CachedTrace:
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    return CachedTrace(translator.trace("The baker paints a boat.", target="Le boulanger cache."))


@pytest.fixture(scope="module")
def model(checkpoints: Path) -> Model:
    return models.load("tiny", checkpoints / "tiny")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session's memory and a store of its own, without a browser."""
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(
        trace_cache, "_traces", SizedCache[CachedTrace](MAX_BYTES, lambda reading: reading.size)
    )


VIEW = View(text="The baker paints a boat.")


@pytest.mark.usefixtures("session")
def test_the_same_sentence_is_read_once(model: Model) -> None:
    first = trace_cache.read(model, VIEW)
    assert trace_cache.read(model, VIEW) is first
    assert trace_cache.read(model, replace(VIEW, method="beam")) is not first
    assert trace_cache.read(model, replace(VIEW, layer=1, size="large")) is first


@pytest.mark.usefixtures("session")
def test_another_length_penalty_searches_no_more(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace_cache.read(model, replace(VIEW, method="beam"))
    moved = [replace(VIEW, method="beam", length_penalty=alpha / 10) for alpha in range(15)]
    wanted = [model.translator.trace(VIEW.text, **view.decoding()) for view in moved]
    monkeypatch.setattr(SequenceDecoder, "decode", None)  # nobody asks the model
    for view, trace in zip(moved, wanted, strict=True):
        found = trace_cache.read(model, view).trace
        assert found.translation == trace.translation
        np.testing.assert_array_equal(found.weights("cross", 0), trace.weights("cross", 0))


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("method", ["greedy", "beam", "sample", "forced"])
def test_another_piece_is_forced_and_the_rest_is_free(model: Model, method: str) -> None:
    view = replace(VIEW, method=method, target="Le boulanger peint.")
    first = trace_cache.read(model, view)
    ids = first.trace.translation.ids
    piece = next(c.id for c in first.trace.translation.steps[1].candidates if c.id != ids[1])
    found = trace_cache.with_forced_token(model, view, first, f"1:{piece}").trace.translation
    assert found.ids[:2] == (ids[0], piece)
    assert found.source == VIEW.text
    assert first.trace.translation.ids == ids


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(
    ("force", "told"), [("99:8", "no step 99"), ("0:1", "control"), ("0:999999", "999999")]
)
def test_what_cannot_be_forced_is_said(model: Model, force: str, told: str) -> None:
    first = trace_cache.read(model, VIEW)
    with pytest.raises(ValueError, match=told):
        trace_cache.with_forced_token(model, VIEW, first, force)


@pytest.mark.usefixtures("session")
def test_another_sentence_and_the_same_one(model: Model) -> None:
    found = trace_cache.comparison(
        model, replace(VIEW, other="A pilot finds bread.", method="forced", target="x")
    )
    assert found.trace.source == "A pilot finds bread."
    assert found.trace.translation.method == "greedy"
    assert trace_cache.comparison(model, VIEW).trace.source == VIEW.text


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_vectors_are_of_the_pass_that_is_shown(model: Model, kind: str) -> None:
    reading = trace_cache.read(model, replace(VIEW, method="sample", seed=3))
    found = {part.name: part.array for part in trace_cache.vectors(model, reading, kind, 1, 2)}
    scores, value = found[f"scores.{kind}.1.2"], found[f"value.{kind}.1.2"]
    weights = reading.trace.weights(kind, 1)[2]
    if kind == "decoder":
        scores = np.where(np.tri(len(scores), dtype=bool), scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), weights, atol=1e-5)
    np.testing.assert_allclose(weights @ value, found[f"heads.{kind}.1.2"], atol=1e-5)


def test_a_file_of_everything_keeps_how_the_text_came_about(model: Model, session: None) -> None:
    reading = trace_cache.read(model, replace(VIEW, method="beam"))
    found = trace_cache.full_trace(model, reading)
    assert set(found.names) == set(model.translator.model.hook_names)
    assert found.translation.tree is not None
    assert found.translation == reading.trace.translation
    np.testing.assert_allclose(
        found.weights("cross", 1), reading.trace.weights("cross", 1), atol=1e-5
    )


def test_the_room_counts_what_a_reading_really_holds(reading: CachedTrace) -> None:
    held = sum(reading.trace[name].nbytes for name in reading.trace.names)
    packed = sum(part.array.nbytes for part in reading.side.layers([]))
    assert held < reading.size
    assert reading.size >= 0.8 * (held + packed)


def test_of_many_reruns_only_the_newest_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(Exception):
        pass

    def stop() -> None:
        raise Stopped

    monkeypatch.setattr(st, "stop", stop)
    turn, done = NewestRerun(), []

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


def test_a_search_that_nobody_waits_for_ends_between_two_steps(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check asks the session's memory, where Streamlit ends the rerun; nothing is kept."""

    class Gone(Exception):
        pass

    class Memory(dict[str, object]):
        asked = 0

        def __contains__(self, key: object) -> bool:
            self.asked += 1
            if self.asked > 3:
                raise Gone
            return super().__contains__(key)

    kept: SizedCache[CachedTrace] = SizedCache(MAX_BYTES)
    monkeypatch.setattr(trace_cache, "_traces", kept)
    for view in (VIEW, replace(VIEW, method="beam"), replace(VIEW, method="sample")):
        memory = Memory()
        monkeypatch.setattr(st, "session_state", memory)
        with pytest.raises(Gone), cancelled_by(RerunCancellation()):
            trace_cache.read(model, view)
        assert memory.asked == 4
    assert len(kept) == 0


@pytest.mark.usefixtures("session")
def test_a_search_that_takes_too_much_of_the_server_is_ended(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_cache, "MAX_CPU_SECONDS", -1)
    told = "took more than -1 seconds of processor time"
    with pytest.raises(ValueError, match=told), cancelled_by(RerunCancellation()):
        trace_cache.read(model, VIEW)
