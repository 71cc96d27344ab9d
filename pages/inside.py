"""Look inside: Figure 1 box by box, positions, and why the paper uses self-attention."""

from __future__ import annotations

from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.figure import sections
from transformer.ui.pages.inside.positions import topics
from transformer.ui.pages.inside.why import parts
from transformer.ui.widgets import page

with page.page_with_optional_model("pages/inside.py") as model:
    tab = state.view(Inside).tab
    if tab == "why":
        parts.show()
    elif model is None:
        page.no_model()
    elif tab == "positions":
        topics.show(model)
    else:
        sections.show(model)
