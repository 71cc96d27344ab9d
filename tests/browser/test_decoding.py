"""The decoding view: steps, candidates, rows of attention, a forced piece and the beam tree, held
against the trace that the page was made from."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from transformer.figures import Side, explorer_page
from transformer.inference import BeamNode, BeamTree, Translator
from transformer.inference.trace import Trace
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import Vocabulary

pytestmark = pytest.mark.browser

TEXT, LAYER, HEAD, FORCED = "The baker paints a boat today.", 1, 2, 2
HOSTILE = ["<script>alert(1)</script>", "<b>bold</b>", "👩🏽‍🚀", "مرحبا", "e\u0301", "▁the", "▁the"]


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


@pytest.fixture(scope="module")
def made(tiny_model: Transformer, vocabulary: Vocabulary) -> Made:
    translator = Translator(tiny_model, vocabulary)
    plain = translator.trace(TEXT, max_len=7)
    step = plain.translation.steps[FORCED]
    other = next(one.id for one in step.candidates if one.id != step.chosen.id)
    altered = translator.trace(TEXT, prefix=[*plain.translation.ids[:FORCED], other], max_len=7)
    beam = translator.trace(TEXT, beam_size=3, max_len=6)
    return Made(plain, altered, beam, f"{FORCED}:{other}")


def opened(
    page: Page, folder: Path, *traces: Trace, live: bool = False, **start: int | str
) -> Page:
    begin = {"view": "decoding", "layer": LAYER, "head": HEAD, "exact": 1, **start}
    written = explorer_page([Side(trace, str(i)) for i, trace in enumerate(traces)], begin)
    if live:
        quiet = "() => {}, views)"
        heard = "(state) => { window.reported = state; }, views, true)"
        assert quiet in written
        written = written.replace(quiet, heard, 1)
    (folder / "view.html").write_text(written, encoding="utf-8")
    page.goto((folder / "view.html").as_uri())
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
    clearest = {kind: Side(original or trace).clearest(kind) for kind in ("decoder", "encoder")}
    layer, clear = clearest["decoder"]
    expect(rows.nth(0).locator("h5")).to_contain_text(f"layer {layer}, head {clear}")
    same_row(
        rows.nth(0), trace.tgt_tokens, trace.weights("decoder", layer)[clear, step, : step + 1]
    )
    expect(rows.nth(1).locator("h5")).to_contain_text(f"layer {LAYER}, head {head}")
    cross = trace.weights("cross", LAYER)[head, step]
    same_row(rows.nth(1), trace.src_tokens, cross)
    most = int(cross.argmax())
    layer, clear = clearest["encoder"]
    same_row(rows.nth(2), trace.src_tokens, trace.weights("encoder", layer)[clear, most])
    expect(rows.nth(2).locator("h5")).to_contain_text(f"“{trace.src_tokens[most]}”")


def test_each_step_shows_its_candidates_and_its_rows(
    page: Page, tmp_path: Path, made: Made
) -> None:
    opened(page, tmp_path, made.plain)
    panel = page.locator(".hu-panel").first
    page.locator(".hu-player").focus()
    for step in range(3):
        at_step(page, step, made.plain)
        same_candidates(panel, made.plain, step)
        same_rows(panel, made.plain, step)
        states = [one.get_attribute("data-state") for one in page.locator("button.hu-piece").all()]
        later = len(made.plain.predicted_tokens) - step - 1
        shown = [state for state in states if state]  # the altered translation has none
        assert shown == ["read"] * step + ["now"] + ["later"] * later
        page.keyboard.press("ArrowRight")
    page.get_by_role("radio", name="layer 1, head 0").click()
    same_rows(panel, made.plain, 3, head=0)


def test_a_beam_may_take_what_is_no_candidate(page: Page, tmp_path: Path, made: Made) -> None:
    steps = made.plain.translation.table
    fewer = replace(
        steps,
        tokens=[t[1:] for t in steps.tokens],
        ids=[i[1:] for i in steps.ids],
        probabilities=[p[1:] for p in steps.probabilities],
    )
    trace = replace(made.plain, translation=replace(made.plain.translation, table=fewer))
    opened(page, tmp_path, trace, step=1)
    assert made.plain.translation.steps[1].chosen.id not in fewer.ids[1]
    same_candidates(page.locator(".hu-panel").first, trace, 1)


def test_the_keyboard_steps_and_reads(page: Page, tmp_path: Path, made: Made) -> None:
    opened(page, tmp_path, made.plain)
    end = len(made.plain.translation.steps) - 1
    page.locator(".hu-player").focus()
    for key, step in [
        ("ArrowLeft", 0),
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", end),
        ("ArrowRight", end),
        ("Home", 0),
    ]:
        page.keyboard.press(key)
        at_step(page, step, made.plain)
    page.get_by_role("button", name="last step").press("Enter")
    at_step(page, end, made.plain)
    page.get_by_role("slider").press("ArrowLeft")
    at_step(page, end - 1, made.plain)
    row = page.locator(".hu-weightrow").nth(1)
    row.locator("[tabindex='0'].hu-weight").focus()
    before = int(made.plain.weights("cross", LAYER)[HEAD, end - 1].argmax())
    page.keyboard.press("ArrowRight")
    after = min(before + 1, len(made.plain.src_tokens) - 1)
    expect(row.locator(".hu-read")).to_contain_text(made.plain.src_tokens[after])
    at_step(page, end - 1, made.plain)


def test_it_plays_a_step_a_second_and_stops(new_page: NewPage, tmp_path: Path, made: Made) -> None:
    page = new_page(alone=True)
    page.clock.install()
    opened(page, tmp_path, made.plain)
    end = len(made.plain.translation.steps) - 1
    play = page.locator(".hu-play")
    page.locator(".hu-player").press(" ")
    expect(play).to_have_text("Pause")
    page.clock.run_for(1050)
    at_step(page, 1, made.plain)
    page.clock.run_for(1000)
    at_step(page, 2, made.plain)
    page.locator(".hu-player").press(" ")
    expect(play).to_have_text("Play")
    page.clock.run_for(3000)
    at_step(page, 2, made.plain)
    play.click()
    page.clock.run_for(1000)
    at_step(page, 3, made.plain)
    page.get_by_role("tab", name="Heatmap").click()
    page.clock.run_for(3000)
    page.get_by_role("tab", name="Decoding").click()
    at_step(page, 3, made.plain)
    expect(play).to_have_text("Play")
    play.click()
    page.clock.run_for(1000 * end)
    at_step(page, end, made.plain)
    expect(play).to_have_text("Play")
    play.click()  # from the end it begins anew
    at_step(page, 0, made.plain)


def test_a_candidate_is_taken_instead_where_the_app_answers(
    page: Page, tmp_path: Path, made: Made
) -> None:
    opened(page, tmp_path, made.plain, live=True, step=FORCED)
    step, id = made.forced.split(":")
    page.locator(f"button.hu-candidate[data-id='{id}']").click()
    page.wait_for_function("window.reported")
    assert page.evaluate("window.reported.force") == made.forced
    assert page.evaluate("window.reported.step") == int(step)
    expect(page.locator(".hu-forced")).to_contain_text("translating again")
    page.get_by_role("button", name="Back to the original").click()
    page.wait_for_function("window.reported.force === ''")
    expect(page.locator(".hu-forced")).to_be_hidden()


def test_a_file_says_where_another_piece_can_be_taken(
    page: Page, tmp_path: Path, made: Made
) -> None:
    opened(page, tmp_path, made.plain)
    assert page.locator("button.hu-candidate").count() == 0
    row = page.locator(".hu-candidate:not(.hu-taken)").first
    assert "in the app" in (row.get_attribute("title") or "")


def test_the_forced_translation_stands_beside_the_original(
    page: Page, tmp_path: Path, made: Made
) -> None:
    opened(page, tmp_path, made.plain, made.altered, force=made.forced, step=FORCED)
    panels, outputs = page.locator(".hu-panel"), page.locator(".hu-output")
    for i, trace in enumerate((made.plain, made.altered)):
        same_candidates(panels.nth(i), trace, FORCED)
        same_rows(panels.nth(i), trace, FORCED, original=made.plain)
        expect(outputs.nth(i).locator("button.hu-piece")).to_have_text(list(trace.predicted_tokens))
    given = outputs.nth(1).locator(".hu-given")
    expect(given).to_have_text(made.altered.predicted_tokens[FORCED])
    expect(given).to_have_attribute("data-state", "now")
    expect(panels.nth(1).locator(".hu-told").filter(has_text="yours")).to_be_visible()
    for i in range(2):
        before = outputs.nth(i).locator("button.hu-piece").all()[:FORCED]
        assert not any("hu-differing" in (one.get_attribute("class") or "") for one in before)
    words = (made.plain.predicted_tokens, made.altered.predicted_tokens)
    for i in range(2):  # what one of them has more often than the other is marked so many times
        marked = outputs.nth(i).locator(".hu-differing").all_inner_texts()
        for token in set(words[i]):
            assert marked.count(token) >= words[i].count(token) - words[1 - i].count(token)
    assert page.locator(".hu-differing").count() > 0
    page.get_by_role("button", name="Back to the original").click()
    expect(panels.nth(1)).to_be_hidden()
    expect(page.locator(".hu-differing:visible")).to_have_count(0)


def test_the_tree_is_walked(page: Page, tmp_path: Path, made: Made) -> None:
    tree = made.tree
    opened(page, tmp_path, made.beam, node=0)
    box, branch = page.locator(".hu-treebox"), page.locator(".hu-branch")
    values = branch.locator("dd")

    def at(node: BeamNode) -> None:
        expect(branch.locator(".hu-piece")).to_have_text([one.token for one in tree.path(node)])
        shown = [text.replace("−", "-") for text in values.all_inner_texts()]
        assert percent(shown[0]) == pytest.approx(node.probability, abs=6e-4)
        assert float(shown[1]) == pytest.approx(node.log_probability, abs=6e-5)
        assert float(shown[2]) == pytest.approx(node.score, abs=6e-5)
        assert shown[3].startswith(node.fate)

    now = tree.nodes[0]
    at(now)
    box.focus()
    while tree.children(now) and now.depth < 4:
        page.keyboard.press("ArrowRight")
        now = next(child for child in tree.children(now) if child.best)
        at(now)
    seen = {now.index}
    for _ in range(6):  # all of a step can be reached, none is reached twice
        page.keyboard.press("ArrowDown")
    for _ in range(6):
        path = branch.locator(".hu-piece").all_inner_texts()
        ends = [
            n
            for n in tree.nodes
            if n.depth == now.depth and [p.token for p in tree.path(n)] == path
        ]
        seen |= {ends[0].index}
        page.keyboard.press("ArrowUp")
    assert seen == {n.index for n in tree.nodes if n.depth == now.depth}
    path = branch.locator(".hu-piece").all_inner_texts()
    page.keyboard.press("ArrowLeft")
    expect(branch.locator(".hu-piece")).to_have_text(path[:-1])


def test_the_best_way_leads_to_its_step(page: Page, tmp_path: Path, made: Made) -> None:
    best = [node for node in made.tree.nodes if node.best]
    lost = next(node for node in made.tree.nodes if node.fate == "discarded")
    opened(page, tmp_path, made.beam, node=best[3].index)
    page.get_by_role("button", name="Show this step").click()
    at_step(page, 2, made.beam)
    opened(page, tmp_path, made.beam, node=lost.index)
    expect(page.locator(".hu-branch dd").last).to_contain_text("discarded")
    expect(page.get_by_role("button", name="Show this step")).to_have_count(0)


def height(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["height"]


def ended(made: Made) -> Trace:
    """The beam's trace with a tree that has three finished ends and a wide last step."""
    nodes = [BeamNode(0, None, 0, "<s>", 1, 1.0, 0.0, 0.0, "kept", True)]
    for i, (token, score) in enumerate([("▁le", -0.5), ("▁la", -0.9), ("▁un", -0.7)]):
        nodes.append(BeamNode(2 * i + 1, 0, 1, token, 40 + i, 0.3, score, score, "kept", i == 0))
        nodes.append(
            BeamNode(2 * i + 2, 2 * i + 1, 2, "</s>", 2, 0.9, score * 2, score, "finished", i == 0)
        )
    for index in range(7, 30):
        nodes.append(
            BeamNode(index, 1, 2, f"▁gone{index}", index, 0.01, -9.0, -9.0, "discarded", False)
        )
    return replace(
        made.beam, translation=replace(made.beam.translation, tree=BeamTree(tuple(nodes), 12, 0.6))
    )


def test_finished_ones_are_ranked_and_discarded_ones_folded(
    page: Page, tmp_path: Path, made: Made
) -> None:
    opened(page, tmp_path, ended(made))
    expect(page.locator(".hu-end bdi")).to_have_text(["le", "un", "la"])
    expect(page.locator(".hu-end .hu-number")).to_have_text(["−0.5000", "−0.7000", "−0.9000"])
    page.locator(".hu-end").nth(1).click()
    expect(page.locator(".hu-branch dd").last).to_have_text("finished: 2 of 3 by score")
    box, field = page.locator(".hu-treebox"), page.locator(".hu-treefield")
    low = height(field)
    page.get_by_role("button", name="+23 discarded").click()
    assert height(field) > low + 500
    assert height(field.locator("canvas")) <= height(box) < 500  # only what is in sight
    page.locator(".hu-end").first.click()
    box.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hu-branch dd").last).to_contain_text("discarded")
    page.get_by_role("button", name="Hide what was discarded").click()
    expect(page.locator(".hu-branch dd").last).not_to_contain_text("discarded")


def test_a_click_chooses_a_branch(page: Page, tmp_path: Path, made: Made) -> None:
    opened(page, tmp_path, ended(made), node=0)
    # The boxes of a column stand below each other: the second column holds le, un, la by score.
    found = []
    for y in range(12, 130, 12):
        page.locator(".hu-treebox").click(position={"x": 190, "y": y})
        found.append(page.locator(".hu-branch .hu-piece").last.inner_text())
    assert list(dict.fromkeys(found)) == ["<s>", "▁le", "▁un", "▁la"]


def test_without_beam_search_the_way_to_it_is_told(page: Page, tmp_path: Path, made: Made) -> None:
    opened(page, tmp_path, made.plain)
    expect(page.locator(".hu-tree")).to_contain_text("Choose Beam on the Translate page")
    expect(page.locator(".hu-treebox")).to_be_hidden()


def test_table_and_picture_hold_the_step(page: Page, tmp_path: Path, made: Made) -> None:
    opened(page, tmp_path, made.beam, step=2)
    take = page.get_by_role("button", name="Take it with you")
    take.click()
    with page.expect_download() as taken:
        page.get_by_role("button", name="Table (CSV)").click()
    lines = list(csv.reader(taken.value.path().read_text(encoding="utf-8-sig").splitlines()))[1:]
    step = made.beam.translation.steps[2]
    shown = {line[3]: float(line[4]) for line in lines if line[1] == "candidate"}
    for one in step.candidates:
        assert math.isclose(shown[one.token], one.probability, abs_tol=1e-6)
    cross = [float(line[4]) for line in lines if line[1].startswith("Encoder–decoder")]
    np.testing.assert_allclose(cross, made.beam.weights("cross", LAYER)[HEAD, 2], atol=2e-5)
    assert sum(line[1] == "tree" for line in lines) == len(made.tree.nodes)
    take.click()
    with page.expect_download() as drawn:
        page.get_by_role("button", name="Picture for a paper (SVG)").click()
    written = drawn.value.path().read_text(encoding="utf-8")
    assert "Encoder–decoder: over the source" in written
    assert len(re.findall(r">step \d+<", written)) == max(n.depth for n in made.tree.nodes)


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1400, "dark")])
def test_hostile_tokens_are_text_and_fit(
    new_page: NewPage, tmp_path: Path, made: Made, width: int, scheme: str
) -> None:
    def hostile(count: int) -> tuple[str, ...]:
        return tuple((HOSTILE * count)[:count])

    beam = made.beam
    table = beam.translation.table
    steps = replace(table, tokens=[list(hostile(len(row))) for row in table.tokens])
    tree = replace(
        made.tree, nodes=tuple(replace(n, token=HOSTILE[n.index % 7]) for n in made.tree.nodes)
    )
    trace = replace(
        beam,
        src_tokens=hostile(len(beam.src_tokens)),
        tgt_tokens=hostile(len(beam.tgt_tokens)),
        predicted_tokens=hostile(len(beam.predicted_tokens)),
        translation=replace(beam.translation, table=steps, tree=tree),
    )
    page = opened(new_page(width, scheme), tmp_path, trace, step=3, node=len(tree.nodes) - 1)
    expect(page.locator("button.hu-piece:visible")).to_have_text(list(trace.predicted_tokens))
    expect(page.locator(".hu-panel").first.locator(".hu-candidate .hu-name")).to_contain_text(
        HOSTILE[:3]
    )
    expect(page.locator(".hu-branch .hu-piece")).to_have_text(
        [node.token for node in tree.path(tree.nodes[-1])]
    )
    assert page.locator(".hu-decoding :is(script, b)").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
