"""Tokens with HTML, emoji and right-to-left letters are text in every view, and every view fits a
phone, in both themes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.decoding_page import LAYER, DecodedSentence
from tests.browser.explorer_file import bounding_box, open_html, table
from tests.browser.heads_page import point
from tests.figures.fake_traces import HOSTILE, update
from tests.figures.film_frames import LABELS, film_frames
from transformer.figures import PackedTrace, explorer_page
from transformer.figures.film import film_page
from transformer.figures.moments import moments_data
from transformer.figures.views import EXPLORER, view_page
from transformer.inference.trace import Trace


def hostile(count: int) -> tuple[str, ...]:
    return tuple((HOSTILE * count)[:count])


def with_hostile_tokens(decoded_sentence: DecodedSentence) -> Trace:
    beam, tree = decoded_sentence.beam, decoded_sentence.tree
    steps = beam.translation.table
    return replace(
        beam,
        src_tokens=hostile(len(beam.src_tokens)),
        tgt_tokens=hostile(len(beam.tgt_tokens)),
        predicted_tokens=hostile(len(beam.predicted_tokens)),
        translation=replace(
            beam.translation,
            source="<b>x</b> " + HOSTILE[0],
            table=replace(steps, tokens=[list(hostile(len(row))) for row in steps.tokens]),
            tree=replace(
                tree, nodes=tuple(replace(n, token=HOSTILE[n.index % 7]) for n in tree.nodes)
            ),
        ),
    )


def check_every_size(page: Page, name: str) -> None:
    """Check that no token is an element and that nothing is wider than the page."""
    assert page.locator(".hu :is(script, img)").count() == 0, name
    assert page.locator(".hu :is(b, i)", has_text=re.compile("^(bold|x)$")).count() == 0, name
    for width, scheme in ((390, "light"), (390, "dark"), (1400, "dark"), (1400, "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)


def test_hostile_tokens_are_text_in_every_view(
    page: Page, tmp_path: Path, decoded_sentence: DecodedSentence
) -> None:
    trace = with_hostile_tokens(decoded_sentence)
    sides = [PackedTrace(trace, "A"), PackedTrace(decoded_sentence.greedy, "B")]
    state = {"view": "heads", "kind": "cross", "layer": LAYER, "head": 2, "more": 1, "exact": 1}
    last_node = len(decoded_sentence.tree.nodes) - 1
    open_html(page, tmp_path, explorer_page(sides, {**state, "step": 3, "node": last_node}))
    shown = {
        "query-key": page.get_by_role("radiogroup", name="Key", exact=True).get_by_role("radio"),
        "decoding": page.locator(".hu-steps tbody tr:last-child .hu-input .hu-chip"),
        "compare": page.locator(".hu-texts p").first,
    }
    expected: dict[str, Any] = {
        "query-key": list(trace.src_tokens),
        "decoding": list(trace.tgt_tokens),
        "compare": trace.translation.source,
    }
    for view in EXPLORER:
        page.locator(f".hu-tabs [data-view={view}]").click()
        page.locator(".hu-view > *").first.wait_for()
        if view in shown:
            expect(shown[view]).to_have_text(expected[view])
        if view == "heads":
            for row in (0, 1, 5):
                point(page, "q", row, n_rows=len(trace.src_tokens))
                expect(page.locator(".hu-reading strong")).to_contain_text(HOSTILE[row])
            page.mouse.move(0, 0)
        if view == "heatmap":
            header, _ = table(page)
            assert header[2:] == [f"{i} {token}" for i, token in enumerate(trace.src_tokens)]
        if view == "compare":
            for width, stacked in ((390, True), (1400, False)):
                page.set_viewport_size({"width": width, "height": 900})
                boxes = map(bounding_box, page.locator(".hu-panels .hu-canvas").all())
                assert (len({box["x"] for box in boxes}) == 1) == stacked
        check_every_size(page, view)

    open_html(page, tmp_path, film_page(film_frames([0, 1]), LABELS, {"kind": "encoder"}))
    assert table(page)[0][1:] == [f"{i} {token}" for i, token in enumerate(LABELS[0]["src"])]
    expect(page.locator("option").first).to_contain_text("<script>alert(1)</script>")
    page.locator(".hu-canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hu-tip")).to_contain_text("attends to <script>alert(1)</script>")
    check_every_size(page, "film")

    step = {**update(16, 16), "name": "<img src=x onerror=alert(1)>"}
    step["m_hat"] = [[float("nan")] * 16] * 16
    open_html(page, tmp_path, view_page("moments", moments_data(step), "Moments"))
    expect(page.locator(".hu-title")).to_have_text("<img src=x onerror=alert(1)>, at step 7")
    expect(page.locator(".hu-update")).to_contain_text("not a number")
    check_every_size(page, "moments")
