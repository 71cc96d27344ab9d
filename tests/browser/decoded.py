"""A decoded sentence in the view of decoding, and what is read there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, Page, expect

from tests.browser.opened import on_screen
from transformer.figures import ExplorerData, explorer_page
from transformer.inference import BeamTree, Translator
from transformer.inference.trace import Trace

TEXT, LAYER, HEAD, FORCED = "The baker paints a boat today.", 1, 2, 2


@dataclass(frozen=True)
class Made:
    """A greedy trace, the same with another piece in step FORCED, and one with a beam."""

    plain: Trace
    altered: Trace
    beam: Trace
    forced: str

    @property
    def tree(self) -> BeamTree:
        assert self.beam.translation.tree
        return self.beam.translation.tree


def opened(
    page: Page, folder: Path, *traces: Trace, live: bool = False, **start: int | str
) -> Page:
    begin = {"view": "decoding", "layer": LAYER, "head": HEAD, "exact": 1, **start}
    written = explorer_page([ExplorerData(trace, str(i)) for i, trace in enumerate(traces)], begin)
    if live:
        quiet = "() => {}, views)"
        heard = "(state) => { window.reported = state; }, views, true)"
        assert quiet in written
        written = written.replace(quiet, heard, 1)
    on_screen(page, folder, written)
    page.locator(".hu-decoding").wait_for()
    return page


def at_step(page: Page, step: int, trace: Trace) -> None:
    expect(page.locator(".hu-place")).to_have_text(f"{step + 1} / {len(trace.translation.steps)}")


def percent(text: str) -> float:
    return float(text.strip("> <%")) / 100


def same_candidates(panel: Locator, trace: Trace, step: int) -> None:
    taken = trace.translation.steps[step]
    wanted = list(taken.candidates)
    if taken.chosen.id not in [one.id for one in wanted]:
        wanted.append(taken.chosen)
    rows = panel.locator(".hu-candidate")
    expect(rows.locator(".hu-name")).to_have_text([one.token for one in wanted])
    shown = [percent(text) for text in rows.locator(".hu-number").all_inner_texts()]
    np.testing.assert_allclose(shown, [one.probability for one in wanted], atol=6e-4)
    assert panel.locator(".hu-taken").get_attribute("data-id") == str(taken.chosen.id)


def same_row(row: Locator, tokens: tuple[str, ...], weights: np.ndarray) -> None:
    """The cells of a row, as a screen reader reads them."""
    cells = row.locator(".hu-weight:not([hidden])")
    read = [cell.get_attribute("aria-label") or "" for cell in cells.all()]
    assert [text.rpartition(": ")[0] for text in read] == list(tokens[: len(weights)])
    shown = [float(text.rpartition(": ")[2].removeprefix("< ")) for text in read]
    np.testing.assert_allclose(shown, weights, atol=1.1e-4)


def same_rows(
    panel: Locator, trace: Trace, step: int, head: int = HEAD, original: Trace | None = None
) -> None:
    """Of the chosen kind the chosen head, of the others the clearest that the original has."""
    rows = panel.locator(".hu-weightrow")
    clearest = {
        kind: ExplorerData(original or trace).clearest(kind) for kind in ("decoder", "encoder")
    }
    layer, clear = clearest["decoder"]
    expect(rows.nth(0).locator("h3")).to_contain_text(f"layer {layer}, head {clear}")
    same_row(
        rows.nth(0), trace.tgt_tokens, trace.weights("decoder", layer)[clear, step, : step + 1]
    )
    expect(rows.nth(1).locator("h3")).to_contain_text(f"layer {LAYER}, head {head}")
    cross = trace.weights("cross", LAYER)[head, step]
    same_row(rows.nth(1), trace.src_tokens, cross)
    most = int(cross.argmax())
    layer, clear = clearest["encoder"]
    same_row(rows.nth(2), trace.src_tokens, trace.weights("encoder", layer)[clear, most])
    expect(rows.nth(2).locator("h3")).to_contain_text(f"“{trace.src_tokens[most]}”")


def decoded(translator: Translator) -> Made:
    """The same sentence plain, with another piece taken, and by beam search."""
    plain = translator.trace(TEXT, max_len=7)
    step = plain.translation.steps[FORCED]
    other = next(one.id for one in step.candidates if one.id != step.chosen.id)
    altered = translator.trace(TEXT, prefix=[*plain.translation.ids[:FORCED], other], max_len=7)
    beam = translator.trace(TEXT, beam_size=3, max_len=6)
    return Made(plain, altered, beam, f"{FORCED}:{other}")
