"""Research: an index of experiments on attention heads, and one experiment at a time."""

from __future__ import annotations

from transformer.ui.base import state
from transformer.ui.pages.research import (
    Research,
    alignment,
    attribution,
    findings,
    importance,
    index,
    patching,
    roles,
)
from transformer.ui.widgets import page

PARTS = {
    "importance": importance.show,
    "patching": patching.show,
    "attribution": attribution.show,
    "alignment": alignment.show,
    "roles": roles.show,
    "findings": findings.show,
}

with page.page(index.PAGE) as model:
    if experiment := state.view(Research).experiment:
        index.heading(experiment)
        PARTS[experiment](model)
    else:
        index.show(model)
