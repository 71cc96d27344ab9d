"""The form for a new run: its task or sentence pairs, its settings, and the button that trains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from transformer.figures.glossary import tip
from transformer.jobs import JobError
from transformer.text.tasks import TASKS
from transformer.training.recipe import make_run_config
from transformer.training.run_config import TrainingRun
from transformer.ui.base import state
from transformer.ui.pages.training import FORMS, OWN_PAIRS, cards, own_pairs
from transformer.ui.pages.training.probes import probes
from transformer.ui.services import live_jobs
from transformer.ui.widgets import frame
from transformer.ui.widgets.callbacks import attempt, store_refusal


@dataclass(frozen=True)
class Number:
    """A setting with a number."""

    name: str
    label: str
    help: str
    minimum: float
    maximum: float
    step: float = 1
    format: str | None = None


@dataclass(frozen=True)
class Choice:
    """A setting with a few values, value to label."""

    name: str
    label: str
    help: str
    labels: Mapping[str, str] = field(default_factory=dict)


Setting = Number | Choice
MODEL: tuple[Setting, ...] = (
    Number("d_model", "Size, d_model", "Length of the vector that represents a token.", 8, 1024, 8),
    Number("n_heads", "Heads", "", 1, 32),
    Number("n_layers", "Layers", "", 1, 12),
    Number("d_ff", "d_ff", "", 8, 4096, 8),
    Choice(
        "score",
        "Score function",
        "How a query is compared with a key: scaled dot product as in the paper, the same without "
        "1/√d_k, or additive attention (Bahdanau et al. 2015).",
        {"scaled_dot": "q·k / √d_k (scaled)", "dot": "q·k (unscaled)", "additive": "v·tanh(q + k)"},
    ),
    Choice(
        "positions",
        "Positions",
        "",
        {"sinusoidal": "sines and cosines", "learned": "learned", "none": "none"},
    ),
)
TRAINING: tuple[Setting, ...] = (
    Number("steps", "Steps", "Number of weight updates.", 1, 100_000, 100),
    Number("batch_tokens", "Batch", "Source plus target tokens per step.", 32, 65_536, 64),
    Number("learning_rate", "Learning rate", "", 0.0, 0.1, 0.0005, "%.4f"),
    Number("warmup", "Warm-up", "", 1, 50_000),
    Number(
        "cooldown",
        "Cool-down",
        "The last part of the run, in which the learning rate falls to 0.",
        0,
        0.95,
        0.1,
    ),
    Number("dropout", "Dropout", "", 0, 0.9, 0.05),
    Number("label_smoothing", "Label smoothing", "", 0, 0.9, 0.05),
    Number(
        "weight_decay",
        "Weight decay",
        "Fraction of every weight, times the learning rate, that each step subtracts (AdamW).",
        0.0,
        10.0,
        0.1,
    ),
    Number(
        "seed",
        "Seed",
        "",
        0,
        2**31 - 1,
    ),
    Choice(
        "precision",
        "Precision",
        "Number format of matrix products.",
        {"fp32": "float32", "bf16": "bfloat16"},
    ),
)
VOCABULARY_SIZE = Number(
    "vocab_size", "Vocabulary", "Number of subword tokens to learn from your text.", 32, 8000, 100
)


def show(task: str) -> None:
    """Draw what the run learns and the form of its settings.

    Args:
        task: name of the task, or `OWN_PAIRS`.
    """
    frame.page_link("pages/train.py", "← All runs", run="", form="")
    subject_column, form_column = st.columns([2, 3], gap="large")
    with subject_column:
        st.selectbox("Task", list(FORMS), format_func=FORMS.__getitem__, **state.bound("form"))
        pairs = _own_pairs() if task == OWN_PAIRS else _task(task)
    with form_column, st.form(f"settings-{task}", enter_to_submit=False):
        _settings(task, pairs)


def _task(task: str) -> own_pairs.Pairs:
    """Explain the task, with an example and a trained run."""
    chosen = TASKS[task]
    st.write(chosen.explanation)
    example = chosen.pairs(1, seed=5)[0]
    st.markdown(f"`{example.src}` → `{example.tgt}`")
    st.info(f"**What to look for.** {chosen.look_for}", icon=":material/visibility:")
    cards.trained_run_link(task, cards.shipped_run_of(task))
    return []


def _own_pairs() -> own_pairs.Pairs:
    st.write(
        "The model learns to generate the target from the source. You can use any pairs of text: "
        "two languages, questions and answers, words and their plurals. A few hundred short pairs "
        "give a first result; thousands give a better one."
    )
    return own_pairs.draw()


def _settings(task: str, pairs: own_pairs.Pairs) -> None:
    """Draw the name of the run, the button that trains it, and its settings."""
    visibility = (
        "Only you can see it until you share the run."
        if task == OWN_PAIRS
        else "Other visitors can see it."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Name of the run",
            placeholder=_default_title(task),
            key=_key(task, "title"),
            help=visibility,
            max_chars=100,
        )
        st.form_submit_button(
            "Train", icon=":material/play_arrow:", type="primary", on_click=_submit, args=(task,)
        )
    values = defaults(task, pairs)
    groups = {"The task": _task_settings(task), "The model": MODEL, "The training": TRAINING}
    for title, settings in groups.items():
        if settings:
            st.markdown(f"**{title}**")
        for start in range(0, len(settings), 3):  # row by row, so that the widgets of a row align
            for column, setting in zip(st.columns(3), settings[start : start + 3], strict=False):
                with column:
                    _widget(task, setting, values[setting.name])


def _default_title(task: str) -> str:
    return "My own sentences" if task == OWN_PAIRS else FORMS[task]


def _task_settings(task: str) -> tuple[Setting, ...]:
    if task == OWN_PAIRS:
        return (VOCABULARY_SIZE,)
    return tuple(
        Number(
            name,
            name.replace("_", " ").capitalize(),
            TASKS[task].meanings.get(name, ""),
            option.minimum,
            option.maximum,
        )
        for name, option in TASKS[task].options.items()
    )


def defaults(task: str, pairs: own_pairs.Pairs) -> dict[str, Any]:
    """Return the initial value of every setting, by name."""
    config = make_run_config(None if task == OWN_PAIRS else task)
    values = {**config.model.to_dict(), **config.training.to_dict()}
    values |= getattr(config, "options", {})
    if pairs:
        values["steps"] = own_pairs.fitting_steps(pairs, config.training.batch_tokens)
    return values


def _widget(task: str, setting: Setting, default: Any) -> None:
    help_text, key = tip(setting.label) or setting.help or None, _key(task, setting.name, default)
    if isinstance(setting, Choice):
        options = list(setting.labels)
        st.selectbox(
            setting.label,
            options,
            options.index(default),
            format_func=setting.labels.__getitem__,
            help=help_text,
            key=key,
        )
        return
    kind = type(default)
    st.number_input(
        setting.label,
        kind(setting.minimum),
        kind(setting.maximum),
        default,
        kind(setting.step),
        format=setting.format,
        help=help_text,
        key=key,
    )


def _key(task: str, name: str, default: Any = "") -> str:
    """Return the key of a widget, a new one if its default changes with the pairs."""
    return f"{task}-{name}-{default}"


def _submit(task: str) -> None:
    """Start the run of the form, or keep the reason why it is refused; a callback."""
    try:
        config, pairs = _run(task)
    except ValueError as error:
        store_refusal("train", JobError(str(error)))
        return
    attempt("train", lambda: live_jobs.start_run(config, pairs))


def _run(task: str) -> tuple[TrainingRun, bytes]:
    """Return the run that the form describes, and its sentence pairs.

    Raises ValueError for values that do not fit together, and for missing or invalid pairs.
    """
    pairs: own_pairs.Pairs = []
    if task == OWN_PAIRS:
        reading = own_pairs.current()
        if not reading.pairs:
            raise ValueError(
                reading.problem or "Add sentence pairs first: paste them or upload a file."
            )
        pairs = reading.pairs
    values, initial = {}, defaults(task, pairs)
    for setting in (*MODEL, *TRAINING, *_task_settings(task)):
        value = st.session_state.get(_key(task, setting.name, initial[setting.name]))
        values[setting.name] = initial[setting.name] if value is None else value
    options = {name: values.pop(name) for name in TASKS[task].options} if not pairs else {}
    config = make_run_config(
        None if pairs else task,
        settings=values,
        options=options,
        title=st.session_state[_key(task, "title")].strip() or _default_title(task),
        probes=() if pairs else probes(task),
    )
    return config, own_pairs.tsv(pairs)
