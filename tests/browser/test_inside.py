"""Figure 1 in a browser: its boxes, moving vectors, and the view of its tables as a file."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app_pages import TEXT, address, open_inside
from tests.browser.conftest import NewPage
from tests.browser.explorer_file import bounding_box, open_html
from tests.live_app import wait_for_script_run
from transformer import Translator
from transformer.figures.figure1 import FIGURE_1, STOPS
from transformer.figures.tensors import Table, tensor_data
from transformer.figures.views import page as view_page


def box(page: Page, name: str) -> Locator:
    return page.locator(f'[data-box="{name}"]')


def box_title(page: Page) -> Locator:
    """Return the title of the open box."""
    return page.locator(".st-key-inside-top").get_by_role("heading")


def check_title(page: Page, words: str) -> None:
    expect(box_title(page)).to_have_text(words)
    wait_for_script_run(page)


def click_next(page: Page) -> None:
    page.get_by_role("button", name="Next →").click()
    wait_for_script_run(page)


@pytest.mark.journey
def test_a_student_walks_through_figure_1_and_computes_a_number(
    app: str, new_page: NewPage, checkpoints: Path
) -> None:
    page = new_page(alone=True)
    open_inside(app, page)
    expect(page.locator("[aria-current=step]")).to_have_attribute("data-box", STOPS[0])
    expect(page.get_by_role("button", name="← Previous")).to_be_disabled()
    for number in (2, 3, 4):
        click_next(page)  # opens the box after the one on the page
        expect(page.get_by_text(f"Box {number}", exact=True)).to_be_visible()
    # It is inside the attention block, so both maps mark a box.
    opened = page.locator("[aria-current=step]")
    expect(opened).to_have_count(2)
    expect(opened.first).to_have_attribute("data-box", "encoder.self_attn")
    open_inside(app, page)
    expect(page.locator(".hu-box")).to_have_count(len(FIGURE_1))
    box(page, "encoder.ffn.hidden").click()
    check_title(page, "FFN, hidden · encoder, layer 1, feed-forward network")
    expect(box(page, "encoder.ffn.hidden")).to_have_attribute("aria-current", "step")
    assert address(page)[1]["box"] == "encoder.ffn.hidden"
    page.keyboard.press("ArrowUp")
    check_title(page, "FFN, output · encoder, layer 1, feed-forward network")
    expect(box(page, "encoder.ffn.output")).to_be_focused()
    page.keyboard.press("End")
    check_title(page, "Next token")
    expect(page.get_by_text(re.compile("^The most probable tokens: step"))).to_be_visible()
    expect(page.get_by_role("button", name="Next →")).to_be_disabled()
    page.get_by_role("button", name="← Previous").click()
    check_title(page, "Softmax")
    expect(page.locator("[aria-current=step]")).to_have_attribute("data-box", "output.softmax")
    page.reload()
    check_title(page, "Softmax")
    expect(page.locator("[aria-current=step]")).to_have_attribute("data-box", "output.softmax")
    wait_for_script_run(page)
    page.go_back()
    check_title(page, "Next token")
    # The figure scrolls to its open box; a click before that could hit another one.
    expect(page.locator("[aria-current=step]")).to_have_attribute("data-box", "output.choice")

    box(page, "decoder.cross_attn").click()
    check_title(page, "Q · decoder, layer 1, cross-attention")
    box(page, "softmax").press("Enter")
    check_title(page, "Softmax · decoder, layer 1, cross-attention")
    expect(box(page, "decoder.cross_attn")).to_have_attribute("aria-current", "step")
    page.get_by_role("button", name="Layer 2", exact=True).click()
    check_title(page, "Softmax · decoder, layer 2, cross-attention")
    page.get_by_role("radio", name="4", exact=True).click()
    expect(box(page, "decoder.cross_attn")).to_contain_text("head 4")
    wait_for_script_run(page)
    expected = {"text": TEXT, "box": "decoder.cross_attn.softmax", "layer": "1", "head": "3"}
    assert {name: address(page)[1][name] for name in expected} == expected

    canvas = page.get_by_label("Attention weights:")
    bounding_box(canvas)  # fails if the canvas is invisible
    weights = Translator.load(checkpoints / "tiny", device="cpu").trace(TEXT).weights("cross", 1)
    canvas.focus()
    rows, columns = weights[0].shape
    for key in ("ArrowDown",) * rows + ("ArrowRight",) * columns:
        page.keyboard.press(key)
    message = page.locator(".st-key-inside-number")
    expect(message).to_contain_text(f"{weights[3, -1, -1]:.4g}"[:6])
    wait_for_script_run(page)
    fields = address(page)[1]
    assert (fields["panel"], fields["row"], fields["column"]) == (
        "weights",
        str(rows - 1),
        str(columns - 1),
    )
    page.get_by_text("Python functions that compute this table").click()
    expect(page.locator("code", has_text="def normalize(")).to_be_visible()


VALUES = np.linspace(-1, 1, 2 * 400).reshape(2, 400)
VALUES[1, 250] = -3.25
VALUES[0, 7] = -np.inf


TABLE = Table(
    id="x",
    title="Wide",
    values=VALUES,
    rows=("<s>", "<img src=x>"),
    columns=(),
    row_axis="token",
    column_axis="dimension",
    kind="signed",
)


def mount_table(page: Page, folder: Path, cell: tuple[int, int] | None = None) -> Locator:
    """Open the table as a file that records its reports in `window.reports`."""
    data = base64.b64encode(tensor_data(TABLE, cell)).decode()
    start = f"""import {{ tensorsView }} from "./views/inside/tensors.js";
window.reports = [];
const view = tensorsView(document.body, (state) => window.reports.push(state));
document.querySelector(".hu").classList.add("hu-file");
view.show(Uint8Array.from(atob("{data}"), (letter) => letter.charCodeAt(0)));"""
    open_html(page, folder, view_page(start))
    canvas = page.locator(".hu-canvas")
    canvas.wait_for()
    return canvas


def point(page: Page, canvas: Locator, x: float, y: float, *, click: bool = False) -> str:
    """Return the readout at this point of the picture."""
    box = bounding_box(canvas)
    page.mouse.move(box["x"] + x, box["y"] + y)
    if click:
        page.mouse.click(box["x"] + x, box["y"] + y)
    return "".join(page.locator(".hu-tip:not([hidden])").all_inner_texts())


def reported_position(page: Page) -> tuple[int, int]:
    page.wait_for_function("window.reports.length")
    last = page.evaluate("window.reports.pop()")
    return last["row"], last["column"]


def test_wide_tables_are_viewed_through_one_frame(page: Page, tmp_path: Path) -> None:
    canvas = mount_table(page, tmp_path)
    box = bounding_box(canvas)
    # In the overview above the table: its right end, second row.
    assert point(page, canvas, box["width"] - 3, 35).split("\n") == [
        "1", "token <img src=x>", "dimension 399"
    ]  # fmt: skip
    point(page, canvas, box["width"] - 3, 35, click=True)  # moves the frame
    right_end = box["width"] - 20, box["height"] - 10
    assert "dimension 399" in point(page, canvas, *right_end)
    point(page, canvas, *right_end, click=True)
    assert reported_position(page) == (1, 399)
    page.keyboard.press("ArrowLeft")
    assert reported_position(page) == (1, 398)
    assert page.locator(".hu img").count() == 0

    canvas = mount_table(page, tmp_path)
    box = bounding_box(canvas)
    first = box["width"] * 0.12, box["height"] - 10
    assert "dimension 0" in point(page, canvas, *first)
    page.get_by_role("button", name="Strongest columns first").click()
    assert point(page, canvas, *first).startswith("−3.25")
    assert "dimension 250" in point(page, canvas, *first)

    canvas = mount_table(page, tmp_path, (0, 7))
    box = bounding_box(canvas)
    columns = [point(page, canvas, x, box["height"] - 35) for x in range(100, 700, 20)]
    assert any(text.startswith("−∞") and "dimension 7" in text for text in columns)
