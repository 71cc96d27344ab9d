"""The home page: its translation, invalid requests, and the cards of the other pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from transformer.ui.pages.home.glance import TranslationRequest

from tests.pages.conftest import Visit, component_data, view
from tests.session import SessionDict
from transformer import Translator
from transformer.analysis.interventions.switching import all_heads, switched_off
from transformer.figures.packed_trace import describe
from transformer.figures.packing import unpack
from transformer.ui.base import state
from transformer.ui.base.registry import HOME, PAGES
from transformer.ui.pages.home import Home, glance
from transformer.ui.services import models, trace_cache
from transformer.ui.services.models import Model

TEXT = "The baker hides books."


def picture(app: Any) -> dict[str, Any]:
    data: dict[str, Any] = next(data for data in component_data(app) if data and "examples" in data)
    return data


def test_the_picture_is_the_greedy_translation_of_the_sessions_sentence(
    visit: Visit, translator: Translator
) -> None:
    app = visit("app.py", text=TEXT, method="beam")
    data = picture(app)
    trace = translator.trace(TEXT, method="greedy")
    assert data["text"] == view(app).text == TEXT
    assert data["trace"] == describe(trace, ["cross"])
    assert (data["alternatives"], data["original"]) == ([], None)
    assert not data["problem"]
    assert not data["has_alternatives"]  # alternatives are requested after the translation


def test_a_link_with_an_invalid_text_says_why(visit: Visit) -> None:
    data = picture(visit("app.py", text="   "))
    assert "no text to translate" in data["problem"]
    assert "trace" not in data


def test_every_page_has_a_card_in_navigation_order(visit: Visit) -> None:
    links = [link.proto.label for link in visit("app.py").get("page_link")]
    n_navigation_links = len(PAGES)
    assert links[n_navigation_links:-1] == [
        entry.link_text for entry in PAGES.values() if entry.link_text
    ]
    assert links[-1].startswith("In a classroom?")


@pytest.fixture
def model(checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """Start a session without a browser."""
    monkeypatch.setattr(st, "session_state", SessionDict({"page": HOME}))
    return models.load("tiny", checkpoints / "tiny")


def send_choice(model: Model, **choice: Any) -> TranslationRequest:
    """Return the request that is stored for a message of the browser."""
    st.session_state[glance.KEY] = {"choice": choice}
    glance._handle_choice(model)
    return glance._current_request()


def sent(model: Model, request: TranslationRequest) -> dict[str, Any]:
    """Return the header of the data that the browser gets."""
    header = glance.component_data(model, request, "", state.view().text)
    return unpack(glance._picture(model, request, header))[0]


def test_typed_text_becomes_the_sentence_if_it_can_be_translated(model: Model) -> None:
    assert send_choice(model, text=TEXT, number=3).number == 3
    assert state.view().text == TEXT
    for text, problem in (
        ("", "Type a few words"),
        (" \u200b", "Type a few words"),
        ("+ ☃", "only symbols"),
        ("the lamp " * 400, "at most 512"),
        ("x" * 30_000, "30,000 characters"),
    ):
        assert problem in send_choice(model, text=text, number=4).problem
        assert state.view().text == TEXT
    assert not send_choice(model, text="She hides.", number=5).problem
    assert state.view().text == "She hides."


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"text": TEXT},
        {"text": TEXT, "number": "x"},
        {"text": TEXT, "number": 1, "prefix": "ab"},
        {"text": TEXT, "number": 1, "prefix": 5},
        {"open_head": [1]},
        {"open_head": "ab"},
    ],
)
def test_invalid_messages_are_ignored(model: Model, choice: dict[str, Any]) -> None:
    before = state.view().text
    assert send_choice(model, **choice) == TranslationRequest(before)
    assert state.view().text == before


def test_a_forced_word_changes_only_this_sentences_translation(model: Model) -> None:
    first = trace_cache.greedy(model, TEXT).trace.translation
    token_id = next(c.id for c in first.steps[0].candidates if c.id != first.ids[0] and c.id > 3)
    request = send_choice(model, text=TEXT, number=1, prefix=[token_id])
    data = sent(model, request)
    assert data["trace"]["ids"][0] == token_id
    assert data["prefix"] == [token_id]
    state.change(text="She hides.")
    assert glance._current_request() == TranslationRequest("She hides.")


def test_heads_that_are_off_change_the_translation_and_the_address(
    model: Model, translator: Translator
) -> None:
    off, config = "c0,c1", translator.model.config
    hooks = switched_off(config, all_heads(config, ["cross"]))
    request = send_choice(model, text=TEXT, number=1, off=off)
    data = sent(model, request)
    assert data["off"] == state.view(Home).off == off
    altered = translator.trace(TEXT, method="greedy", hooks=hooks)
    assert data["trace"]["predicted"] == [*altered.predicted_tokens]
    original = translator.trace(TEXT, method="greedy")
    assert data["original"] == describe(original, [])
    assert send_choice(model, text="", number=2, off="c0").off == "c0"  # also with an invalid text
    assert send_choice(model, text=TEXT, number=3, off="c0<b>").number == 2  # ignored
    request = send_choice(model, text=TEXT, number=4)
    assert sent(model, request)["original"] is None
