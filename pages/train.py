"""Train: an idea or a form, a run while it learns, and what is left of it."""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame, live_jobs, page, state
from transformer.ui.races import one_race, start
from transformer.ui.server import visitor
from transformer.ui.training import Train, draft, ideas, run_page, setup

with page.page_without_model("pages/train.py"):
    owner, view, now = visitor.owner(), state.view(Train), draft.now()
    if refused := draft.refused():
        st.warning(frame.plain(refused))
    if view.run:
        run_page.run(view.run, owner)
    elif view.race:
        one_race.show(live_jobs.jobs(), owner, view.race)
    elif now:
        setup.form(now)
    else:
        frame.lead(
            "Press **Train**: a small Transformer learns on this machine, and within seconds you "
            "see its loss fall and its heads take shape."
        )
        places = ideas.cards()
        ideas.shipped()
        ideas.listed(owner)
        start.section(live_jobs.jobs(), owner)
        ideas.measure(places)
