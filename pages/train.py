"""Train: example runs, the form for a new run, and the page of a run."""

from __future__ import annotations

import streamlit as st

from transformer.ui.base import state, visitor
from transformer.ui.pages.training import (
    Train,
    cards,
    form,
    here,
    run_list,
    run_page,
)
from transformer.ui.widgets import frame, page
from transformer.ui.widgets.callbacks import show_refusal

with page.page_without_model("pages/train.py"):
    owner, view = visitor.ensure_id(), state.view(Train)
    show_refusal("train")
    if view.here:
        here.show()
    elif view.run:
        run_page.show(view.run, owner)
    elif view.form:
        form.show(view.form)
    else:
        frame.lead_text(
            "Train a small model and watch its attention form. In this tab, training pauses when a "
            "head has found where to look, so that you can switch it off; on the server, it goes "
            "on when you leave."
        )
        cards.show()
        run_list.own_runs(owner)
        with st.expander("More runs"):
            run_list.shipped_runs()
            run_list.other_runs(owner)
