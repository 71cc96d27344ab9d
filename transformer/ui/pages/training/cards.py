"""The start of the Train page: three cards, each with a picture of a trained head."""

from __future__ import annotations

import streamlit as st

from transformer.jobs import RunInfo, count_parameters
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TrainingRun
from transformer.ui.pages.training import OWN_PAIRS, head_pictures
from transformer.ui.pages.training.probes import probes
from transformer.ui.services import live_jobs
from transformer.ui.widgets import frame, quantities
from transformer.ui.widgets.callbacks import attempt

SHIPPED_PREFIX = "toy-"
"""First part of a shipped run's name; the task's name follows."""
OWN_PAIRS_EXAMPLE = "training-en-de"
"""The shipped run that shows what a model learns from sentence pairs."""
EXAMPLES = {
    "reverse": (
        "Reverse a sequence",
        "Heads learn within seconds to read the source from its end to its beginning.",
    ),
    "french": (
        "Where French puts adjectives",
        "“The black cat” is “le chat noir”: attention leaves the diagonal at the adjective.",
    ),
}
"""The tasks that one click trains, each with the title of its run and a sentence about it."""


def show() -> None:
    """Draw two tasks and the visitor's own sentences as cards, and the link to all settings."""
    with st.container(horizontal=True, key="example-cards"):
        for task in EXAMPLES:
            with st.container(border=True, key=f"example-{task}"):
                _task_card(task)
        with st.container(border=True, key="example-own"):
            _own_pairs_card()
    frame.page_link("pages/train.py", "Other tasks and all settings →", form="reverse", run="")


def _task_card(task: str) -> None:
    title, text = EXAMPLES[task]
    shipped_run = shipped_run_of(task)
    _card_top(title, text, shipped_run)
    config = run_config(task)
    weights = quantities.weights(count_parameters(config.model))
    st.caption(f"{weights} weights, {config.training.steps:,} steps on the server")
    with st.container(horizontal=True, vertical_alignment="center"):
        _train_in_tab(task)
        frame.callback_button("Train on the server", "dns", _start, task, key=f"train-{task}")
        trained_run_link(task, shipped_run)


def _own_pairs_card() -> None:
    shipped_run = _shipped(OWN_PAIRS_EXAMPLE)
    _card_top(
        "Your own sentences",
        "Paste or upload sentence pairs: heads learn which words belong together.",
        shipped_run,
    )
    st.caption("At least 20 pairs, in any two languages")
    with st.container(horizontal=True, vertical_alignment="center"):
        _train_in_tab("pairs")
        frame.state_button("Train on the server", "dns", {"form": OWN_PAIRS}, key="form-own")
        trained_run_link("English–German", shipped_run)


def _train_in_tab(task: str) -> None:
    frame.state_button(
        "Train in this tab",
        "play_arrow",
        {"here": f"task={task}", "run": "", "form": ""},
        key=f"tab-{task}",
        type="primary",
    )


def _card_top(title: str, text: str, shipped_run: RunInfo | None) -> None:
    """Draw the picture of a head of the shipped run, the title of the card and its sentence."""
    st.html(_picture(shipped_run) if shipped_run else '<div class="hu-head"></div>')
    st.markdown(f"**{title}**")
    st.markdown(text)


def _picture(shipped_run: RunInfo) -> str:
    return head_pictures.last_picture(live_jobs.jobs().folder(shipped_run.name).path)


def trained_run_link(name: str, shipped_run: RunInfo | None) -> None:
    """Draw a link to the run that is included with the app, if there is one."""
    if shipped_run:
        frame.page_link(
            "pages/train.py", f"Open a trained model: {name} →", run=shipped_run.name, form=""
        )


def run_config(task: str) -> TrainingRun:
    """Return the run that a click on the card of this task trains."""
    return make_run_config(task, title=EXAMPLES[task][0], probes=probes(task))


def _start(task: str) -> None:
    attempt("train", lambda: live_jobs.start_run(run_config(task)))


def shipped_run_of(task: str) -> RunInfo | None:
    """Return the run of this task that is included with the app, if there is one."""
    return _shipped(f"{SHIPPED_PREFIX}{task}")


def _shipped(name: str) -> RunInfo | None:
    return next((info for info in live_jobs.jobs().shipped() if info.name == name), None)
