"""Settings on a run's page: changing one restarts the training with the new value."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from transformer.figures.glossary import tip
from transformer.jobs import JobError, RunInfo
from transformer.training.run_config import INSPECT, PairsRun, TaskRun
from transformer.training.run_folder import RunError
from transformer.ui.base import state, visitor
from transformer.ui.pages.training import draft, setup
from transformer.ui.services import live_jobs
from transformer.ui.widgets.callbacks import attempt


@dataclass(frozen=True)
class QuickSetting:
    """A setting of the model or of the training, with the values that the page offers."""

    name: str
    label: str
    values: Sequence[Any]


QUICK_SETTINGS = (
    QuickSetting("n_layers", "Layers", (1, 2, 3, 4)),
    QuickSetting("n_heads", "Heads", (1, 2, 4, 8)),
    QuickSetting("d_model", "d_model", (16, 32, 64, 128)),
    QuickSetting("learning_rate", "Learning rate", (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016)),
    QuickSetting("positions", "Positions", ("sinusoidal", "learned", "none")),
    QuickSetting("score", "Score function", ("scaled_dot", "dot", "additive")),
)
_TITLE_NAMES = {"n_layers": "layers", "n_heads": "heads", "learning_rate": "learning rate"}
_VALUE_LABELS = {
    setting.name: setting.labels for setting in setup.MODEL if isinstance(setting, setup.Choice)
}
_REPLACED = "quick_settings_replaced"
"""Session key: maps each run that a setting restarted to the run that replaced it."""
_HELP = "Changing it restarts the training with the new value."


def show(info: RunInfo, owner: str) -> None:
    """Draw the settings of a run that this visitor may restart, in a popover; nothing for other
    runs. Call `show_refusal("quick-setting")` afterwards."""
    config = _config(info, owner)
    if config is None:
        return
    with st.popover("Change a setting", icon=":material/tune:", key=f"quick-settings-{info.name}"):
        st.caption(_HELP)
        _menus(info, owner, config)


def _menus(info: RunInfo, owner: str, config: TaskRun | PairsRun) -> None:
    for setting in QUICK_SETTINGS:
        current = _value(config, setting.name)
        values = (
            sorted({*setting.values, current})
            if isinstance(current, int | float)
            else setting.values
        )
        labels = _VALUE_LABELS.get(setting.name, {})
        key = f"quick-setting-{info.name}-{setting.name}"
        st.selectbox(
            setting.label,
            values,
            index=list(values).index(current),
            format_func=functools.partial(_label, labels),
            help=tip(setting.label) or None,
            key=key,
            on_change=_restart,
            args=(info.name, owner, setting.name, key),
        )


def _label(labels: Mapping[Any, str], value: Any) -> str:
    return labels.get(value, f"{value}")


def _config(info: RunInfo, owner: str) -> TaskRun | PairsRun | None:
    """Return the run's settings if this visitor may restart it."""
    if info.race is not None:
        return None
    try:
        config = live_jobs.jobs().folder(info.name).config()
    except (JobError, RunError):
        return None
    if isinstance(config, PairsRun):
        return config if info.held_by(owner) else None
    return config if isinstance(config, TaskRun) else None


def _value(config: TaskRun | PairsRun, name: str) -> Any:
    config_part = config.training if hasattr(config.training, name) else config.model
    return getattr(config_part, name)


def _restart(run: str, owner: str, name: str, key: str) -> None:
    """Restart this run with another value of one setting. As in TensorFlow Playground, this
    discards the visitor's own running or queued run; a paused or ended one stays.

    The browser may still show the previous run's widgets and URL: a value that differs from the new
    run's applies to the new run.
    """
    state.ignore_address()
    replacements: dict[str, str] = st.session_state.get(_REPLACED, {})
    while run in replacements:
        run = replacements[run]
    if state.page_view().run != run:
        return  # the visitor has left that run
    jobs = live_jobs.jobs()
    try:
        info = live_jobs.run_info(run)
    except JobError as error:
        draft.set_error(error)
        return
    config = _config(info, owner)
    if config is None or _value(config, name) == st.session_state[key]:
        return

    def restart() -> None:
        try:
            changed = with_value(config, name, st.session_state[key])
            files = _files(config, run)
            jobs.limits.check_run(changed, files)
        except (ValueError, OSError) as error:
            raise JobError(str(error)) from error
        new_run = jobs.submit(
            changed, visitor.current_id(), files, address=visitor.address_hash(), reuse=True
        )
        state.change(run=new_run)
        if new_run != run:
            st.session_state[_REPLACED] = {**replacements, run: new_run}
            st.session_state[_REPLACED].pop(new_run, None)  # an equal run may have been reused
        only_holder = info.holders == (owner,)
        if only_holder and info.status in ("queued", "running") and new_run != run:
            attempt("control", lambda: jobs.delete(run, owner))

    if not attempt("quick-setting", restart):
        st.session_state[key] = _value(config, name)


def with_value(config: TaskRun | PairsRun, name: str, value: Any) -> TaskRun | PairsRun:
    """Return the run with another value of one setting, and the value in its title.

    Raises:
        ValueError: for a value that is incompatible with the others.
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
    label = _TITLE_NAMES.get(name, name)
    value_label = _VALUE_LABELS.get(name, {}).get(value, value)
    base_title = re.sub(rf", {re.escape(label)} [^,]*", "", config.title)
    return replace(changed, title=f"{base_title}, {label} {value_label}"[:100])


def _files(config: TaskRun | PairsRun, run: str) -> dict[str, bytes]:
    """Return the file of pairs that is stored next to a run's config.json."""
    if isinstance(config, TaskRun):
        return {}
    return {config.pairs: (live_jobs.jobs().folder(run).path / config.pairs).read_bytes()}
