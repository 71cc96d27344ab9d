"""Settings on a run's page: choosing another value starts the training again with it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from transformer.figures.glossary import tip
from transformer.jobs import JobError, RunInfo
from transformer.run_config import INSPECT, PairsRun, TaskRun
from transformer.training.run import RunError
from transformer.ui import state
from transformer.ui.pages.training import draft, setup
from transformer.ui.services import live_jobs
from transformer.ui.shell import visitor
from transformer.ui.widgets.callbacks import attempt, show_refusal


@dataclass(frozen=True)
class Knob:
    """A setting of the model or of the training, with the values that the page offers."""

    name: str
    label: str
    values: Sequence[Any]


KNOBS = (
    Knob("n_layers", "Layers", (1, 2, 3, 4)),
    Knob("n_heads", "Heads", (1, 2, 4, 8)),
    Knob("d_model", "d_model", (16, 32, 64, 128)),
    Knob("learning_rate", "Learning rate", (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016)),
    Knob("positions", "Positions", ("sinusoidal", "learned", "none")),
    Knob("score", "Score function", ("scaled_dot", "dot", "additive")),
)
_NAMES = {"n_layers": "layers", "n_heads": "heads", "learning_rate": "learning rate"}
_CHOICES = {one.name: one.labels for one in setup.MODEL if isinstance(one, setup.Choice)}
_HELP = "Choosing another value starts the training again with it."


def show(info: RunInfo, owner: str) -> None:
    """Draw the settings of a run that this visitor can train again; nothing for others."""
    config = _config(info, owner)
    if config is None:
        return
    for knob, column in zip(KNOBS, st.columns(len(KNOBS), gap="small"), strict=True):
        now = _value(config, knob.name)
        values = sorted({*knob.values, now}) if isinstance(now, int | float) else knob.values
        labels = _CHOICES.get(knob.name, {})
        key = f"knob-{info.name}-{knob.name}"
        about = " ".join(filter(None, (tip(knob.label), _HELP)))
        with column:
            st.selectbox(
                knob.label,
                values,
                index=list(values).index(now),
                format_func=functools.partial(_label, labels),
                help=about,
                key=key,
                on_change=_restart,
                args=(info.name, owner, knob.name, key),
            )
    show_refusal("knob")


def _label(labels: Mapping[Any, str], value: Any) -> str:
    return labels.get(value, f"{value}")


def _config(info: RunInfo, owner: str) -> TaskRun | PairsRun | None:
    """The run's settings, if training it again is this visitor's to do."""
    if info.race is not None:
        return None
    try:
        found = live_jobs.jobs().folder(info.name).config()
    except (JobError, RunError):
        return None
    if isinstance(found, PairsRun):
        return found if info.held_by(owner) else None
    return found if isinstance(found, TaskRun) else None


def _value(config: TaskRun | PairsRun, name: str) -> Any:
    side = config.training if hasattr(config.training, name) else config.model
    return getattr(side, name)


def _restart(run: str, owner: str, name: str, key: str) -> None:
    """Train this run again with another value of one setting. One's own unfinished run is
    discarded, as in TensorFlow Playground; a paused or ended one stays."""
    if state.page_view().run != run:
        return  # the browser reports the widget of a run that was left once more
    jobs = live_jobs.jobs()
    try:
        info = live_jobs.run_info(run)
    except JobError as error:
        draft.refuse(error)
        return
    config = _config(info, owner)
    if config is None or _value(config, name) == st.session_state[key]:
        return

    def restart() -> None:
        try:
            changed = with_value(config, name, st.session_state[key])
            beside = _files(config, run)
            jobs.limits.check_run(changed, beside)
        except (ValueError, OSError) as error:
            raise JobError(str(error)) from error
        new = jobs.submit(
            changed, visitor.current_id(), beside, address=visitor.address_hash(), reuse=True
        )
        state.change(run=new)
        alone = info.holders == (owner,)
        if alone and info.status in ("queued", "running") and new != run:
            attempt("control", lambda: jobs.delete(run, owner))

    if not attempt("knob", restart):
        st.session_state[key] = _value(config, name)


def with_value(config: TaskRun | PairsRun, name: str, value: Any) -> TaskRun | PairsRun:
    """The same run with another value of one setting, which its title names.

    Raises:
        ValueError: for a value that does not go with the others.
    """
    if hasattr(config.training, name):
        changed: TaskRun | PairsRun = replace(
            config, training=replace(config.training, **{name: value})
        )
    else:
        values = {name: value}
        if name == "d_model" and config.model.d_ff == 4 * config.model.d_model:
            values["d_ff"] = 4 * value
        changed = replace(config, model=replace(config.model, **values))
    layer = re.search(r"\.layers\.(\d+)\.", changed.inspect)
    if layer and int(layer[1]) >= changed.model.n_layers:
        changed = replace(changed, inspect=INSPECT)
    label = _NAMES.get(name, name)
    shown = _CHOICES.get(name, {}).get(value, value)
    base = re.sub(rf", {re.escape(label)} [^,]*", "", config.title)
    return replace(changed, title=f"{base}, {label} {shown}"[:100])


def _files(config: TaskRun | PairsRun, run: str) -> dict[str, bytes]:
    """The pairs that lie beside a run's config.json."""
    if isinstance(config, TaskRun):
        return {}
    return {config.pairs: (live_jobs.jobs().folder(run).path / config.pairs).read_bytes()}
