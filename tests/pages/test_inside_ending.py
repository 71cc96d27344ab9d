"""The end of Inside's walk: the word that wins, its rivals, and the same word on the map."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from tests.pages.conftest import Visit, messages, shown, view
from transformer import Translator
from transformer.figures.naming import token_name
from transformer.figures.places import STOPS

PAGE, TEXT = "pages/inside.py", "The baker hides books."


@pytest.mark.parametrize("row", [0, 2])
def test_the_walk_ends_with_the_word_that_wins_and_its_rivals(
    visit: Visit, checkpoints: Path, row: int
) -> None:
    translator = Translator.load(checkpoints / "tiny", "cpu")
    trace = translator.trace(TEXT)
    with torch.no_grad():
        logits = translator.model(torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids]))
    probability, ids = logits[0, row].double().softmax(-1).topk(5)
    app = visit(PAGE, text=TEXT, box=STOPS[-1], row=str(row))
    assert not messages(app)
    tables = [one.proto.body for one in app.get("html") if "its rivals" in one.proto.body]
    (table,) = tables
    assert [float(share) for share in re.findall(r">([\d.]+)%</td>", table)] == pytest.approx(
        [100 * float(one) for one in probability], abs=0.06
    )
    winner = translator.vocabulary.token(int(ids[0]))
    assert f"with **{float(probability[0]):.1%}**" in "\n".join(one.value for one in app.markdown)
    header = next(data for data in shown(app) if "drawings" in data)
    box = next(one for one in header["boxes"] if one["id"] == STOPS[-1])
    assert box["hint"] == (token_name(winner).replace("▁", "") or "▁")


def test_another_output_is_chosen_at_the_end(visit: Visit) -> None:
    app = visit(PAGE, text=TEXT, box=STOPS[-1])  # the first output
    choice = next(box for box in app.selectbox if box.label == "Another output")
    choice.select_index(1).run()
    assert view(app).row == 1
    assert not messages(app)
    assert "output 2 of" in "\n".join(one.proto.body for one in app.get("html"))


def test_elsewhere_on_the_walk_nothing_has_won_yet(visit: Visit) -> None:
    app = visit(PAGE, text=TEXT, box=STOPS[0])
    assert not [one for one in app.get("html") if "its rivals" in one.proto.body]
