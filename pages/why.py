"""Why self-attention: Table 1 of the paper, counted and measured."""

from __future__ import annotations

from transformer.ui import page, state
from transformer.ui.kit import controls
from transformer.ui.why import Why, paths, race, results, scores, table, timing

SHOWN = {
    "table": table.show,
    "time": timing.show,
    "paths": paths.show,
    "race": race.show,
    "scores": scores.show,
    "results": results.show,
}

with page.page_without_model("pages/why.py"):
    controls.one_of("part", labelled=False)
    SHOWN[state.view(Why).part]()
