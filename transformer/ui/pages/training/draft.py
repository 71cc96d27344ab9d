"""The form for a new run: its values, kept in the session when the page changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from transformer.config import PRESETS, ModelConfig, TrainingConfig
from transformer.text.tasks import TASKS
from transformer.training.recipe import default_settings, make_run_config
from transformer.training.run_config import INSPECT, TrainingRun
from transformer.ui.pages.training import own_pairs
from transformer.ui.services import live_jobs

_DRAFT_KEY = "draft"
PRESET = "tiny"


@dataclass
class Draft:
    """The form's values.

    Attributes:
        task: "" for the visitor's own sentence pairs.
        number: of this draft in the session, a part of widget keys.
        overrides: settings and task options, by name, that differ from their defaults.
        text: the pasted text; pairs: read from it or from an uploaded file.
        reading: text, name and result of the last reading of pairs, so that a rerun does not
            repeat it.
    """

    task: str
    number: int = 0
    title: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    pairs: own_pairs.Pairs = field(default_factory=list)
    reading: tuple[str, str, own_pairs.Reading] | None = None


def current() -> Draft | None:
    current_draft: Draft | None = st.session_state.get(_DRAFT_KEY)
    return current_draft


def open_form(task: str) -> None:
    """Open the form on a task with its defaults; for callbacks."""
    previous = current()
    st.session_state[_DRAFT_KEY] = Draft(task, number=previous.number + 1 if previous else 1)


def close_form() -> None:
    """Close the form; for callbacks."""
    st.session_state.pop(_DRAFT_KEY, None)


def default(draft: Draft, name: str) -> Any:
    """Return a setting's default."""
    if draft.task and name in TASKS[draft.task].options:
        return TASKS[draft.task].options[name].default
    if name == "steps" and not draft.task and draft.pairs:
        return own_pairs.fitting_steps(draft.pairs, value(draft, "batch_tokens"))
    defaults = {
        **{f: ModelConfig.__dataclass_fields__[f].default for f in ("score", "positions")},
        **PRESETS[PRESET],
        "vocab_size": 1000,
        "seed": 1,
        "precision": TrainingConfig.precision,
        "inspect": INSPECT,
        **default_settings(draft.task or None),
    }
    return defaults[name]


def value(draft: Draft, name: str) -> Any:
    return draft.overrides.get(name, default(draft, name))


def refit_steps(draft: Draft) -> None:
    """Set the number of steps that suits new pairs, unless the user has chosen one."""
    key = f"set-{draft.number}-steps"
    if "steps" not in draft.overrides and key in st.session_state:
        st.session_state[key] = default(draft, "steps")


def bound(draft: Draft, name: str) -> dict[str, Any]:
    """Return the arguments that bind a widget to a setting."""
    key = f"set-{draft.number}-{name}"
    if key not in st.session_state:
        st.session_state[key] = value(draft, name)
    return {"key": key, "on_change": _store_value, "args": (draft, name, key)}


def reset(draft: Draft, *names: str) -> None:
    """Reset these settings to their defaults; for callbacks."""
    for name in names:
        draft.overrides.pop(name, None)
        key = f"set-{draft.number}-{name}"
        if key in st.session_state:
            st.session_state[key] = default(draft, name)


def _store_value(draft: Draft, name: str, key: str) -> None:
    new_value = st.session_state[key]
    if new_value is None or new_value == default(draft, name):
        draft.overrides.pop(name, None)
    else:
        draft.overrides[name] = new_value
    if new_value is None:
        st.session_state[key] = default(draft, name)


def config(draft: Draft) -> TrainingRun:
    """Return the run that the form describes.

    Raises:
        ValueError: for incompatible values, or values above the operator's limits.
    """
    options = TASKS[draft.task].options if draft.task else {}
    settings = {k: v for k, v in draft.overrides.items() if k not in {*options, "inspect"}}
    run = make_run_config(
        draft.task or None,
        preset=PRESET,
        settings={"steps": default(draft, "steps"), **settings},
        options={k: v for k, v in draft.overrides.items() if k in options},
        title=draft.title.strip() or title(draft),
        inspect=value(draft, "inspect"),
        probes=probes(draft.task),
    )
    if not draft.task and not draft.pairs:
        raise ValueError("Add sentence pairs first: paste them or upload a file.")
    return live_jobs.jobs().limits.check_run(run, pairs(draft))


def title(draft: Draft) -> str:
    return TASKS[draft.task].title if draft.task else "My own sentences"


def pairs(draft: Draft) -> bytes:
    """Return the visitor's sentence pairs, to be stored next to the run's config.json."""
    return b"" if draft.task else own_pairs.tsv(draft.pairs)


def probes(task: str) -> tuple[tuple[str, str], ...]:
    """Return pairs whose attention shows the task; () leaves the choice to the run."""
    return tuple((e.src, e.tgt) for e in TASKS[task].probes) if task else ()
