"""Research: an index of experiments on attention heads, and one experiment at a time."""

from __future__ import annotations

from transformer.ui.base import state
from transformer.ui.pages.research import (
    PAGE,
    Research,
    alignment,
    attribution,
    findings,
    importance,
    index,
    roles,
)
from transformer.ui.widgets import page

SHOW = {
    "importance": importance.show,
    "attribution": attribution.show,
    "alignment": alignment.show,
    "roles": roles.show,
    "findings": findings.show,
}

with page.page(PAGE.file) as model:
    if experiment := state.view(Research).experiment:
        index.heading(experiment)
        SHOW[experiment](model)
    else:
        index.show(model)
