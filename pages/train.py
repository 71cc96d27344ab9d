"""Train: example runs, the form for a new run, and the page of a run or a race."""

from __future__ import annotations

import streamlit as st

from transformer.ui.base import state, visitor
from transformer.ui.pages.training import (
    Train,
    cards,
    form,
    here,
    layer_race,
    race_cards,
    race_page,
    run_list,
    run_page,
)
from transformer.ui.services import live_jobs
from transformer.ui.widgets import frame, page
from transformer.ui.widgets.callbacks import show_refusal

with page.page_without_model("pages/train.py"):
    owner, view = visitor.ensure_id(), state.view(Train)
    show_refusal("train")
    if view.here:
        here.show()
    elif view.run:
        run_page.show(view.run, owner)
    elif view.race == layer_race.NAME:
        layer_race.show(live_jobs.jobs(), owner)
    elif view.race:
        race_page.show(live_jobs.jobs(), owner, view.race)
    elif view.form:
        form.show(view.form)
    else:
        frame.lead_text(
            "Train a small model and watch its attention form. The blue **Train** trains it on the "
            "server, which goes on when you leave; **Train in this tab** trains it here, where you "
            "can switch heads off meanwhile."
        )
        cards.show()
        run_list.own_runs(owner)
        with st.expander("More runs"):
            race_cards.section(live_jobs.jobs(), owner)
            run_list.shipped_runs()
            run_list.other_runs(owner)
