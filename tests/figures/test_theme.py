"""Figures and pages have one theme: letters of one colour, and the page's own ground below both."""

from __future__ import annotations

import tomllib
from pathlib import Path

import plotly.graph_objects as go
import pytest

from transformer.figures.theme import theme

SETTINGS = Path(__file__).resolve().parents[2] / ".streamlit" / "config.toml"


@pytest.mark.parametrize("name", ["light", "dark"])
def test_letters_are_the_pages(name: str) -> None:
    page = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["theme"][name]
    layout = go.Figure(layout={"template": theme(name == "dark")}).layout.template.layout
    assert layout.font.color == page["textColor"].lower()
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
