"""A decoded sentence in the decoding view, and checks of what the view shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer_file import open_html
from transformer.figures import PackedTrace, explorer_page
from transformer.inference import BeamTree, Translator
from transformer.inference.trace import Trace

TEXT, LAYER, HEAD, FORCED_STEP = "The baker paints a boat today.", 1, 2, 2


@dataclass(frozen=True)
class DecodedSentence:
    """Traces of one sentence, decoded in three ways.

    Fields:
        greedy: by greedy decoding.
        altered: greedy, with another token forced in step `FORCED_STEP`.
        beam: by beam search.
        forced: the step and the id of the forced token, as in the address.
    """

    greedy: Trace
    altered: Trace
    beam: Trace
    forced: str

    @property
    def tree(self) -> BeamTree:
        assert self.beam.translation.tree
        return self.beam.translation.tree


def open_decoding_view(
    page: Page, folder: Path, *traces: Trace, live: bool = False, **start: int | str
) -> Page:
    state = {"view": "decoding", "layer": LAYER, "head": HEAD, "exact": 1, "more": 1, **start}
    html = explorer_page([PackedTrace(trace, str(i)) for i, trace in enumerate(traces)], state)
    if live:
        no_listener = "() => {}, views)"
        listener = "(state) => { window.reported = state; }, views, true)"
        assert no_listener in html
        html = html.replace(no_listener, listener, 1)
    open_html(page, folder, html)
    page.locator(".hu-decoding").wait_for()
    return page


def check_step_number(page: Page, step: int, trace: Trace) -> None:
    expect(page.locator(".hu-place")).to_have_text(f"{step + 1} / {len(trace.translation.steps)}")


def percent(text: str) -> float:
    return float(text.strip("> <%")) / 100


def check_candidates(panel: Locator, trace: Trace, step: int) -> None:
    result = trace.translation.steps[step]
    expected = list(result.candidates)
    if result.chosen.id not in [candidate.id for candidate in expected]:
        expected.append(result.chosen)
    rows = panel.locator(".hu-candidate")
    expect(rows.locator(".hu-name")).to_have_text([candidate.token for candidate in expected])
    displayed = [percent(text) for text in rows.locator(".hu-number").all_inner_texts()]
    np.testing.assert_allclose(
        displayed, [candidate.probability for candidate in expected], atol=6e-4
    )
    assert panel.locator(".hu-chosen").get_attribute("data-id") == str(result.chosen.id)


def check_row(row: Locator, tokens: tuple[str, ...], weights: np.ndarray) -> None:
    """Check the cells of a row as a screen reader reads them."""
    cells = row.locator(".hu-weight:not([hidden])")
    labels = [cell.get_attribute("aria-label") or "" for cell in cells.all()]
    assert [text.rpartition(": ")[0] for text in labels] == list(tokens[: len(weights)])
    displayed = [float(text.rpartition(": ")[2].removeprefix("< ")) for text in labels]
    np.testing.assert_allclose(displayed, weights, atol=1.1e-4)


def check_rows(
    panel: Locator, trace: Trace, step: int, head: int = HEAD, original: Trace | None = None
) -> None:
    """Check three rows: the selected cross-attention head, and for the other two kinds the
    strongest head of the original trace."""
    rows = panel.locator(".hu-weightrow")
    clearest = {
        kind: PackedTrace(original or trace).clearest(kind) for kind in ("decoder", "encoder")
    }
    layer, head_number = clearest["decoder"]
    expect(rows.nth(0).locator("h3")).to_contain_text(f"layer {layer + 1}, head {head_number + 1}")
    check_row(
        rows.nth(0),
        trace.tgt_tokens,
        trace.weights("decoder", layer)[head_number, step, : step + 1],
    )
    expect(rows.nth(1).locator("h3")).to_contain_text(f"layer {LAYER + 1}, head {head + 1}")
    cross = trace.weights("cross", LAYER)[head, step]
    check_row(rows.nth(1), trace.src_tokens, cross)
    strongest = int(cross.argmax())
    layer, head_number = clearest["encoder"]
    check_row(
        rows.nth(2), trace.src_tokens, trace.weights("encoder", layer)[head_number, strongest]
    )
    expect(rows.nth(2).locator("h3")).to_contain_text(f"“{trace.src_tokens[strongest]}”")


def decode_sentence(translator: Translator) -> DecodedSentence:
    """Return the sentence decoded greedily, with a forced token, and by beam search."""
    greedy = translator.trace(TEXT, max_len=7)
    step = greedy.translation.steps[FORCED_STEP]
    rejected = next(candidate.id for candidate in step.candidates if candidate.id != step.chosen.id)
    altered = translator.trace(
        TEXT, prefix=[*greedy.translation.ids[:FORCED_STEP], rejected], max_len=7
    )
    beam = translator.trace(TEXT, beam_size=3, max_len=6)
    return DecodedSentence(greedy, altered, beam, f"{FORCED_STEP}:{rejected}")
