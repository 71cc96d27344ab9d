"""A run that trains in the browser: the same page as in the static site."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from transformer.checkpoint import load_checkpoint
from transformer.classroom.codes import ClassroomError
from transformer.classroom.tab_runs import read_runs
from transformer.exchange.model_file import unpack_model_file
from transformer.jobs import JobError
from transformer.text.door import Refusal, accepts, form, read_fields
from transformer.ui.base import state, visitor
from transformer.ui.pages.training import HERE_FORM, Train
from transformer.ui.pages.training.sent_model import config_of, decode, read_sent_model
from transformer.ui.services import live_classes, live_jobs
from transformer.ui.widgets import frame, views
from transformer.ui.widgets.callbacks import store_refusal

KEY = "trainer"


@dataclass(frozen=True, kw_only=True)
class _Link:
    link: str = accepts(form(*HERE_FORM))


def show() -> None:
    """Draw the page. The browser trains; the server keeps only the link of the run, and for a class
    its curves. Students of a class train with different seeds, so that the class sees the
    spread."""
    frame.page_link("pages/train.py", "← All ways to train", here="", run="", form="")
    frame.lead_text(
        "A model learns in this tab. Watch its heads find where to look; a click on a head "
        "switches it off."
    )
    classroom = live_classes.current_class()
    member = classroom.member(visitor.current_id()) if classroom else None
    data = {"link": state.view(Train).here, "seed": member.number if member else 0}
    views.training_component("trainer")(key=KEY, data=data, on_choice_change=_take_report)


def _take_report() -> None:
    """Keep the link of the run, or show the class its curve."""
    sent = st.session_state[KEY]["choice"]
    if not isinstance(sent, Mapping):
        return
    if "model" in sent:
        _open_model(sent)
    elif "link" in sent:
        with suppress(Refusal):
            state.change(here=read_fields(sent, _Link).link)
    elif classroom := live_classes.current_class():
        with suppress(ClassroomError):
            classroom.report_tab_runs(visitor.current_id(), read_runs(sent.get("runs")))


def _open_model(sent: Mapping[str, object]) -> None:
    """Store the model that the browser has trained as a finished run, and open its page."""
    try:
        trained = read_sent_model(sent)
        config = config_of(trained)
        with TemporaryDirectory() as folder:
            file, checkpoint = Path(folder) / "model.safetensors", Path(folder) / "checkpoint"
            file.write_bytes(decode(trained.model))
            unpack_model_file(file, checkpoint)
            model = load_checkpoint(checkpoint)[0].config
            name = live_jobs.jobs().add_trained(
                replace(config, model=model),
                visitor.ensure_id(),
                checkpoint,
                lambda run: trained.write_history(run, model),
                address=visitor.address_hash(),
            )
    except ValueError as error:
        store_refusal("train", error if isinstance(error, JobError) else JobError(str(error)))
        return
    state.change(here="", form="", run=name)
