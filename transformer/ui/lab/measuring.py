"""A pass over a corpus as a visitor sees it: asked for, waited for, cancelled, and done."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.jobs import JobError, Limits, Pass, Passes, runs_folder, services
from transformer.jobs.limits import FILE
from transformer.ui import frame, models, visitor
from transformer.ui.models import Model
from transformer.ui.remembered import remembered

EVERY = 0.7
"""Seconds between two looks at a pass that is under way."""
LIVE = ("waiting", "running")


def passes() -> Passes:
    """The server's passes.

    Raises:
        JobError: if the folder of runs cannot be used; ValueError, which it is, for limits.
    """
    return services.once(_passes, str(runs_folder()), os.environ.get(FILE, ""))


def _passes(folder: str, limits: str) -> Passes:
    return Passes(folder, Limits.load(limits or None))


def measured(
    model: Model,
    corpus: Corpus,
    what: str,
    options: Mapping[str, Any] | None = None,
    *,
    button: str = "Measure",
    about: str = "",
) -> dict[str, Any] | None:
    """What `analysis.reports.report(…, what, options)` finds, as JSON holds it; None until then.

    Draws a button to ask for it, then where it stands and a way to cancel it; nothing once it is
    done. The result is everyone's who asks the same of the same checkpoint and corpus, and must
    not be changed. After `corpus.chosen`, which knows who is asking.

    Args:
        button: what stands on it.
        about: what is measured and for how long, for someone who has not asked yet.
    """
    folder = str(models.checkpoints()[model.name])
    key = Passes.key(model.hash, what, corpus, options)
    status = passes().look(key).status
    if status == "done":
        return _result(key)
    live = status in LIVE
    watch = st.fragment(_watched, run_every=EVERY if live else None, key=f"pass-{key}")

    def ask() -> None:
        # Known by now: `corpus.chosen` comes first.
        who = visitor.known()
        where = visitor.address()
        passes().ask(folder, model.hash, what, corpus, options, visitor=who, address=where)

    watch(key, live, ask, button, about)
    return None


@remembered()
def _result(key: str) -> dict[str, Any]:
    return passes().result(key)


def _watched(key: str, live: bool, ask: Callable[[], None], button: str, about: str) -> None:
    """What changes while it goes on; the whole page anew when it begins or ends."""
    who = visitor.known()
    now = passes().look(key, who)
    if (now.status in LIVE) != live or now.status == "done":
        st.rerun()
    if live:
        _progress(now, who)
    else:
        if now.status == "failed":
            st.warning(frame.plain(frame.sentence(f"This could not be measured: {now.reason}")))
        elif about:
            st.info(about)
        st.button(
            "Try again" if now.status == "failed" else button,
            key=f"ask-{key}",
            type="primary",
            icon=":material/play_arrow:",
            on_click=_act,
            args=(ask,),
        )
    if refused := st.session_state.pop("pass-refused", ""):
        st.warning(frame.plain(refused))


def _progress(now: Pass, who: str) -> None:
    if now.status == "waiting":
        before = "one measurement is" if now.place == 1 else f"{now.place} measurements are"
        text = f"In line: {before} before this one …"
    else:
        text = f"{now.doing.capitalize()}: {now.share:.0%} …"
    st.progress(min(max(now.share, 0.0), 1.0), text=text)
    if now.mine:
        st.button(
            "Cancel",
            key=f"cancel-{now.key}",
            icon=":material/close:",
            on_click=_act,
            args=(lambda: passes().cancel(now.key, who),),
        )
    else:
        st.caption("Somebody else asked for this; you will see it as well.")


def _act(what: Callable[[], None]) -> None:
    try:
        what()
    except JobError as error:
        st.session_state["pass-refused"] = frame.sentence(error)
