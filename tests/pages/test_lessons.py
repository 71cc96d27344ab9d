"""Lessons on the pages: the client draws them, and the page stays the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, messages


def card_data(app: AppTest) -> dict[str, Any]:
    [card] = [e.proto for e in app.get("bidi_component") if e.proto.id.endswith("-lesson-card")]
    data: dict[str, Any] = json.loads(card.json)
    return data


@pytest.mark.parametrize(
    ("file", "path"),
    [("app.py", ""), ("pages/learn.py", "learn"), ("pages/inside.py", "inside")],
)
@pytest.mark.parametrize("lesson", ["", "umbrella", "end", "77"])
def test_every_page_has_the_card_with_constant_data(
    visit: Visit, file: str, path: str, lesson: str
) -> None:
    app = visit(file, lesson=lesson)
    assert messages(app) == []
    data = card_data(app)
    assert (data["page"], data["class"]) == (path, None)
    assert data["titles"]["learn"] == "Learn"


def test_the_clinic_takes_the_place_of_the_lessons(visit: Visit) -> None:
    app = visit("pages/learn.py", clinic="1")
    assert "Bug clinic" in [header.value for header in app.header]
    names = [e.proto.component_name for e in app.get("bidi_component")]
    assert not [name for name in names if name.endswith("lesson")]
