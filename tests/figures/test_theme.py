"""Colours are distinguishable in both themes; the heatmap for notebooks."""

from __future__ import annotations

import colorsys
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer.figures import heatmap
from transformer.figures.curves import DARK, LIGHT
from transformer.figures.modules import CLIENT
from transformer.figures.theme import RAMP, text_on

STREAMLIT_CONFIG = Path(__file__).resolve().parents[2] / ".streamlit" / "config.toml"
ROWS, COLUMNS = ("<s>", "▁le", "▁le"), ("▁the", "<b>", "▁the", "</s>")


def channels(colour: str) -> list[float]:
    return [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2.2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first: str, second: str) -> float:
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def test_text_is_readable_on_every_colour_of_the_ramp() -> None:
    for dark, ramp in RAMP.items():
        for number, colour in enumerate(ramp):
            assert contrast(text_on(number / (len(ramp) - 1), dark), colour) >= 4.5


def hue_distance(first: str, second: str) -> float:
    """Return the degrees between two hues."""
    hues = [colorsys.rgb_to_hsv(*channels(colour))[0] for colour in (first, second)]
    distance = abs(hues[0] - hues[1])
    return 360 * min(distance, 1 - distance)


@pytest.mark.parametrize("dark", [False, True])
def test_figures_pages_and_files_have_the_same_colours(dark: bool) -> None:
    style = (CLIENT / "common/base.css").read_text(encoding="utf-8")
    page = tomllib.loads(STREAMLIT_CONFIG.read_text(encoding="utf-8"))["theme"]
    colours = page["dark" if dark else "light"]
    for name, expected in (("Sequential", RAMP[dark]), ("Categorical", DARK if dark else LIGHT)):
        assert [colour.lower() for colour in colours[f"chart{name}Colors"]] == [*expected]
        assert ", ".join(expected) in style


def mixed(share: float, first: str, second: str) -> str:
    """Return the colour of CSS's `color-mix(in srgb, …)`."""
    pairs = zip(channels(first), channels(second), strict=True)
    return "#" + "".join(f"{round(255 * (share * a + (1 - share) * b)):02x}" for a, b in pairs)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_bands_and_words_of_the_first_page_have_enough_contrast(name: str) -> None:
    """3 : 1 for graphics and 4.5 : 1 for text (WCAG 1.4.11 and 1.4.3)."""
    folder = CLIENT / "views/glance"
    script = (folder / "glance-stage.js").read_text(encoding="utf-8")
    style = (folder / "glance.css").read_text(encoding="utf-8")
    hue = re.search(r"series\[i % series.length\]} (\d+)%, var\(--hu-text\)", script)
    button = re.search(r"var\(--hue\) calc\((\d+)% \+ (\d+)% \* var\(--attention", style)
    assert hue
    assert button
    page = tomllib.loads(STREAMLIT_CONFIG.read_text(encoding="utf-8"))["theme"][name]
    text, background = page["textColor"], page["backgroundColor"]
    for colour in page["chartCategoricalColors"]:
        band = mixed(int(hue[1]) / 100, colour, text)
        assert contrast(band, background) >= 3
        for share in (int(button[1]), int(button[1]) + int(button[2])):
            assert contrast(text, mixed(share / 100, band, background)) >= 4.5


def test_the_selection_colour_differs_from_negative_values() -> None:
    style = (CLIENT / "common/base.css").read_text(encoding="utf-8")
    match = re.search(r"--hu-choice: (#\w{6});", style)
    assert match
    choice = match[1]
    for name in ("light", "dark"):
        page = tomllib.loads(STREAMLIT_CONFIG.read_text(encoding="utf-8"))["theme"][name]
        stops = page["chartDivergingColors"]
        below_zero, above_zero = stops[: len(stops) // 2], stops[len(stops) // 2 :]
        assert min(hue_distance(choice, stop) for stop in below_zero) > 90
        assert min(hue_distance(choice, stop) for stop in above_zero) > 30
        assert contrast(choice, page["backgroundColor"]) >= 3
        sequential_colours = page["chartSequentialColors"]
        assert (
            min(contrast(choice, sequential_colours[0]), contrast(choice, sequential_colours[-1]))
            >= 3
        )


def weights() -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(4), size=3).astype(np.float32)


def test_cells_are_the_weights_and_repeated_tokens_are_separate() -> None:
    matrix = weights()
    figure = heatmap(matrix, ROWS, COLUMNS, title="<i>Layer 0</i>")
    np.testing.assert_allclose(np.square(figure.data[0].z), matrix, rtol=1e-6)
    np.testing.assert_allclose(figure.data[0].customdata, matrix, rtol=1e-6)
    tensor = torch.tensor(matrix, dtype=torch.float64, requires_grad=True)
    assert heatmap(tensor, ROWS, COLUMNS, title="<i>Layer 0</i>") == figure
    rounded = heatmap(tensor.bfloat16(), ROWS, [0, 1, 2, 3])  # type: ignore[list-item]
    np.testing.assert_allclose(rounded.data[0].customdata, matrix, rtol=1e-2)
    layout = figure.to_plotly_json()["layout"]
    assert layout["xaxis"]["tickvals"] == [0, 1, 2, 3]
    assert layout["xaxis"]["ticktext"] == ["▁the", "&lt;b&gt;", "▁the", "&lt;/s&gt;"]
    assert layout["yaxis"]["ticktext"] == ["&lt;s&gt;", "▁le", "▁le"]
    assert layout["title"]["text"] == "&lt;i&gt;Layer 0&lt;/i&gt;"
    assert (layout["xaxis"]["title"]["text"], layout["yaxis"]["title"]["text"]) == (
        "attends to",
        "attends from",
    )


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        (np.ones((4, 3)), r"shape \(4, 3\) do not fit 3 row labels and 4 column labels"),
        (np.full((3, 4), 1.5), "from 0 to 1"),
        (np.full((3, 4), np.nan), "from 0 to 1"),
    ],
)
def test_invalid_attention_is_refused(matrix: np.ndarray, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        heatmap(matrix, ROWS, COLUMNS)
