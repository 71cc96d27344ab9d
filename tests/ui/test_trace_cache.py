"""Traces are computed once, cached within a limit, and only for a session's newest rerun."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from transformer.api import traces
from transformer.api.sized_cache import SizedCache
from transformer.cancellation import cancelled_by
from transformer.inference.decoding import SequenceDecoder
from transformer.ui.base.address import View
from transformer.ui.services import models, trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import (
    CachedTrace,
    RerunCancellation,
)


@pytest.fixture(scope="module")
def model(checkpoints: Path) -> Model:
    return models.load("tiny", checkpoints / "tiny")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use an empty session state and an empty cache."""
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(
        traces, "_traces", SizedCache[CachedTrace](traces.MAX_BYTES, lambda trace: trace.size)
    )


VIEW = View(text="The baker paints a boat.")


@pytest.mark.usefixtures("session")
def test_the_same_sentence_is_traced_once(model: Model) -> None:
    first = trace_cache.read(model, VIEW)
    assert trace_cache.read(model, VIEW) is first
    assert trace_cache.read(model, replace(VIEW, method="beam")) is not first
    assert trace_cache.read(model, replace(VIEW, layer=1, size="large")) is first


@pytest.mark.usefixtures("session")
def test_another_length_penalty_reuses_the_search(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace_cache.read(model, replace(VIEW, method="beam"))
    views = [replace(VIEW, method="beam", length_penalty=alpha / 10) for alpha in range(15)]
    expected = [model.translator.trace(VIEW.text, **view.decoding()) for view in views]
    monkeypatch.setattr(SequenceDecoder, "decode", None)  # the model must not be called
    for view, trace in zip(views, expected, strict=True):
        cached_trace = trace_cache.read(model, view).trace
        assert cached_trace.translation == trace.translation
        np.testing.assert_array_equal(cached_trace.weights("cross", 0), trace.weights("cross", 0))


def test_an_abandoned_search_stops_between_two_steps(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit stops a rerun when the code reads the session state, so the search reads it between
    two steps. An unfinished search is not cached."""

    class Disconnected(Exception):
        pass

    class CountingState(dict[str, object]):
        calls = 0

        def __contains__(self, key: object) -> bool:
            self.calls += 1
            if self.calls > 3:
                raise Disconnected
            return super().__contains__(key)

    cache: SizedCache[CachedTrace] = SizedCache(traces.MAX_BYTES)
    monkeypatch.setattr(traces, "_traces", cache)
    for view in (VIEW, replace(VIEW, method="beam"), replace(VIEW, method="sample")):
        session_state = CountingState()
        monkeypatch.setattr(st, "session_state", session_state)
        with pytest.raises(Disconnected), cancelled_by(RerunCancellation()):
            trace_cache.read(model, view)
        assert session_state.calls == 4
    assert len(cache) == 0


@pytest.mark.usefixtures("session")
def test_a_search_that_exceeds_its_cpu_time_stops(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "MAX_CPU_SECONDS", -1)
    message = "took more than -1 seconds of CPU time"
    with pytest.raises(ValueError, match=message), cancelled_by(RerunCancellation()):
        trace_cache.read(model, VIEW)
