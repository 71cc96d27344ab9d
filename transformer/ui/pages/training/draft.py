"""The form for a new run: its values, kept in the session when the page changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import streamlit as st

from transformer.config import PRESETS, ModelConfig
from transformer.jobs import JobError
from transformer.run_config import INSPECT, TrainingRun
from transformer.text.grammar import words
from transformer.text.tasks import TASKS
from transformer.training.recipe import PAIRS_FILE, default_settings, make_run_config
from transformer.ui import state
from transformer.ui.pages.training import own_pairs as own
from transformer.ui.pages.training.curves import CHOSEN_PROBES
from transformer.ui.services import live_classes, live_jobs
from transformer.ui.shell import visitor
from transformer.ui.widgets import frame

_DRAFT, _REFUSED = "draft", "train-refused"
PRESET = "tiny"
EACH = 2  # with an adjective after its noun, and with one before it


@dataclass
class Draft:
    """A task ("" is pairs of one's own), what differs from its defaults, and the pairs.

    `text` is what was pasted. `chosen` holds settings and the task's options by name; `turn`
    counts drafts, so that widgets of an earlier one are others.
    """

    task: str
    turn: int = 0
    title: str = ""
    chosen: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    pairs: own.Pairs = field(default_factory=list)


def now() -> Draft | None:
    found: Draft | None = st.session_state.get(_DRAFT)
    return found


def begin(task: str) -> None:
    """Open the form on a task with its defaults; for callbacks."""
    before = now()
    st.session_state[_DRAFT] = Draft(task, turn=before.turn + 1 if before else 1)
    st.session_state.pop(_REFUSED, None)


def close() -> None:
    """Back to the front door; for callbacks."""
    st.session_state.pop(_DRAFT, None)
    st.session_state.pop(_REFUSED, None)


def default(draft: Draft, name: str) -> Any:
    """What a setting has if nobody touches it."""
    if draft.task and name in TASKS[draft.task].options:
        return TASKS[draft.task].options[name].default
    if name == "steps" and not draft.task and draft.pairs:
        return own.fitting_steps(draft.pairs, value(draft, "batch_tokens"))
    known = {
        **{f: ModelConfig.__dataclass_fields__[f].default for f in ("score", "positions")},
        **PRESETS[PRESET],
        "vocab_size": 1000,
        "seed": 1,
        "inspect": INSPECT,
        **default_settings(draft.task or None),
    }
    return known[name]


def value(draft: Draft, name: str) -> Any:
    return draft.chosen.get(name, default(draft, name))


def refit_steps(draft: Draft) -> None:
    """After other pairs: the number of steps that suits them, unless the user has chosen one."""
    key = f"set-{draft.turn}-steps"
    if "steps" not in draft.chosen and key in st.session_state:
        st.session_state[key] = default(draft, "steps")


def bound(draft: Draft, name: str) -> dict[str, Any]:
    """Arguments that tie a widget to a setting."""
    key = f"set-{draft.turn}-{name}"
    if key not in st.session_state:
        st.session_state[key] = value(draft, name)
    return {"key": key, "on_change": _take, "args": (draft, name, key)}


def back(draft: Draft, *names: str) -> None:
    """These settings as they were at first; for callbacks."""
    for name in names:
        draft.chosen.pop(name, None)
        key = f"set-{draft.turn}-{name}"
        if key in st.session_state:
            st.session_state[key] = default(draft, name)


def _take(draft: Draft, name: str, key: str) -> None:
    chosen = st.session_state[key]
    if chosen is None or chosen == default(draft, name):
        draft.chosen.pop(name, None)
    else:
        draft.chosen[name] = chosen
    if chosen is None:
        st.session_state[key] = default(draft, name)


def config(draft: Draft) -> TrainingRun:
    """Return the run that the form describes.

    Raises:
        ValueError: for values that do not go together, or go past the operator's limits.
    """
    options = TASKS[draft.task].options if draft.task else {}
    settings = {k: v for k, v in draft.chosen.items() if k not in {*options, "inspect"}}
    found = make_run_config(
        draft.task or None,
        preset=PRESET,
        settings={"steps": default(draft, "steps"), **settings},
        options={k: v for k, v in draft.chosen.items() if k in options},
        title=draft.title.strip() or title(draft),
        inspect=value(draft, "inspect"),
        probes=probes(draft.task) if draft.chosen.get("level", 3) == 3 else (),
    )
    if not draft.task and not draft.pairs:
        raise ValueError("Add sentence pairs first: paste them or upload a file.")
    return live_jobs.jobs().limits.check_run(found, files(draft))


def title(draft: Draft) -> str:
    return TASKS[draft.task].title if draft.task else "My own sentences"


def files(draft: Draft) -> dict[str, bytes]:
    """What lies beside the run's config.json."""
    return {} if draft.task else {PAIRS_FILE: own.tsv(draft.pairs)}


def submit(wanted: TrainingRun, beside: Mapping[str, bytes], instead: str = "") -> None:
    """Queue a run and show its page, or keep the sentence that says why not; for callbacks.

    Args:
        instead: the run that the page shows now; a click that comes twice is ignored.
    """
    if state.page_view().run != instead:
        return  # pressed twice
    who, where, first = visitor.current_id(), visitor.address_hash(), live_classes.is_teacher()
    jobs = live_jobs.jobs()
    try:
        state.change(run=jobs.submit(wanted, who, beside, address=where, first=first, reuse=True))
    except JobError as error:
        refuse(error)
        return
    close()


def refuse(error: JobError) -> None:
    """Keep the sentence that says why nothing began; for callbacks."""
    st.session_state[_REFUSED] = frame.as_sentence(error)


def refused() -> str:
    """Why the last click on Train began nothing; said once."""
    found: str = st.session_state.pop(_REFUSED, "")
    return found


@lru_cache
def probes(task: str) -> tuple[tuple[str, str], ...]:
    """Sentences whose attention shows what the task is about; for most, those that the run
    chooses for itself will do. For French, the shortest with an adjective, every word of which
    comes from one word: two where it moves behind its noun, two where it stays before it."""
    if task != "french":
        return ()
    before = {name: adjective.before for name, adjective in words.ADJECTIVES.items()}
    found: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
    for example in TASKS["french"].pairs(*CHOSEN_PROBES["french"]):
        place = dict(example.alignment or ())
        source = example.src.split()
        if not len(place) == len(example.alignment or ()) == len(source):
            continue
        for at in (n for n, word in enumerate(source[:-1]) if word in before):
            moved = place[at] - place[at + 1] == 1
            if moved != before[source[at]]:
                found[moved].append((example.src, example.tgt))
    for pairs in found.values():
        pairs.sort(key=lambda pair: (len(pair[0].split()), pair))
    return (*found[True][:EACH], *found[False][:EACH])
