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

TEXT, LAYER, FORCED_STEP = "The baker paints a boat today.", 1, 2


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
    state = {"view": "decoding", "exact": 1, "more": 1, **start}
    html = explorer_page([PackedTrace(trace, str(i)) for i, trace in enumerate(traces)], state)
    if live:
        no_listener = "() => {}, views)"
        listener = "(state) => { window.reported = state; }, views, { canForce: true })"
        assert no_listener in html
        html = html.replace(no_listener, listener, 1)
    open_html(page, folder, html)
    page.locator(".hu-decoding").wait_for()
    return page


def percent(text: str) -> float:
    return float(text.strip("> <%")) / 100


def check_candidates(row: Locator, trace: Trace, step: int) -> None:
    """Check a row of the table that shows all candidates."""
    result = trace.translation.steps[step]
    expected = list(result.candidates)
    if result.chosen.id not in [candidate.id for candidate in expected]:
        expected.append(result.chosen)
    rows = row.locator(".hu-candidate")
    expect(rows.locator(".hu-name")).to_have_text([candidate.token for candidate in expected])
    displayed = [percent(text) for text in rows.locator(".hu-number").all_inner_texts()]
    np.testing.assert_allclose(
        displayed, [candidate.probability for candidate in expected], atol=6e-4
    )
    expect(row.locator(".hu-this .hu-name")).to_have_text(result.chosen.token)


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
