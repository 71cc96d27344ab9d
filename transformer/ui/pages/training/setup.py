"""The form for a new run: its task, its settings with their defaults, and its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from transformer.figures.glossary import tip
from transformer.jobs.limits import count_parameters
from transformer.measures import naming
from transformer.text.tasks import TASKS
from transformer.text.visible import is_blank
from transformer.training.data import HOLDOUT_INTERVAL, MAX_HOLDOUT_PAIRS
from transformer.training.estimate import SAMPLE_PAIRS, Estimate
from transformer.training.run_config import TrainingRun
from transformer.ui.base import state
from transformer.ui.pages.training import draft, own_pairs
from transformer.ui.pages.training.draft import Draft
from transformer.ui.services import live_jobs
from transformer.ui.services.uploads import decode_text
from transformer.ui.widgets import frame, quantities, tables
from transformer.ui.widgets.callbacks import attempt
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

OWN_LABEL = "Your own sentences"


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


_MATRIX_LABELS = {
    "self_attn.w_qkv": "self-attention, queries first",
    "self_attn.w_o": "self-attention, output",
    "cross_attn.w_qkv": "cross-attention, queries first",
    "cross_attn.w_o": "cross-attention, output",
    "ffn.w_1.weight": "feed-forward, first",
    "ffn.w_2.weight": "feed-forward, second",
}


def form(current: Draft) -> None:
    """Draw the form, and the run's cost or what is wrong with its values."""
    st.button(
        "Back to Train", icon=":material/arrow_back:", type="tertiary", on_click=draft.close_form
    )
    summary_column, settings_column = st.columns([2, 3], gap="large")
    with settings_column:  # drawn first, as the button depends on it
        if not current.task:
            _own_pairs(current)
        task_settings = _own_settings(current)
        if task_settings:
            _group("The task", current, task_settings)
        _group("The model", current, MODEL)
        _group("The training", current, (*TRAINING, _matrix(current)))
    with summary_column:
        _task_choice(current)
        _train_button(current)


def _change_task(key: str) -> None:
    """Change the task, unless the form is closed: a slow browser may report the form's widgets once
    more when it shows the new run."""
    if draft.current() is not None:
        draft.open_form(st.session_state[key])


def _task_choice(current: Draft) -> None:
    names = [*TASKS, ""]
    key = f"task-{current.number}"
    st.selectbox(
        "Task",
        names,
        index=names.index(current.task),
        format_func=lambda name: TASKS[name].title if name else OWN_LABEL,
        key=key,
        on_change=_change_task,
        args=(key,),
    )
    if current.task:
        task = TASKS[current.task]
        st.write(task.explanation)
        example = task.pairs(1, seed=5)[0]
        st.markdown(f"`{example.src}` → `{example.tgt}`")
        st.info(f"**What to look for.** {task.look_for}", icon=":material/visibility:")
    else:
        st.write(
            "The model learns to generate the target from the source. You can use any pairs of "
            "text: two languages, questions and answers, words and their plurals. A few hundred "
            "short pairs give a first result; thousands give a better one."
        )


def _own_settings(current: Draft) -> tuple[Setting, ...]:
    if not current.task:
        return (VOCABULARY_SIZE,)
    task = TASKS[current.task]
    return tuple(
        Number(name, name.replace("_", " ").capitalize(), task.meanings.get(name, ""), low, high)
        for name, (low, high, _) in task.options.items()
    )


def _matrix(current: Draft) -> Choice:
    names = {"embedding.weight": "Token embedding"}
    for layer in range(draft.value(current, "n_layers")):
        for stack in ("decoder", "encoder"):
            for part, label in _MATRIX_LABELS.items():
                if stack == "decoder" or not part.startswith("cross"):
                    names[f"{stack}.layers.{layer}.{part}"] = (
                        f"{stack.capitalize()}, {naming.layer_name(layer)}, {label}"
                    )
    if draft.value(current, "inspect") not in names:
        draft.reset(current, "inspect")
    return Choice("inspect", "Matrix to watch", "The page shows its Adam updates in full.", names)


def _group(title: str, current: Draft, settings: tuple[Setting, ...]) -> None:
    st.markdown(f"**{title}**")
    for start in range(0, len(settings), 3):  # row by row, so that the widgets of a row align
        for column, setting in zip(st.columns(3), settings[start : start + 3], strict=False):
            with column:
                _widget(current, setting)


def _widget(current: Draft, setting: Setting) -> None:
    arguments = draft.bound(current, setting.name)
    default_value = draft.default(current, setting.name)
    if isinstance(setting, Choice):
        st.selectbox(
            setting.label,
            list(setting.labels),
            format_func=lambda name: setting.labels[name],
            help=tip(setting.label) or setting.help,
            **arguments,
        )
        default_label = setting.labels[default_value]
    else:
        kind = type(default_value)
        st.number_input(
            setting.label,
            kind(setting.minimum),
            kind(setting.maximum),
            step=kind(setting.step),
            format=setting.format,
            help=tip(setting.label) or setting.help or None,
            **arguments,
        )
        default_label = (
            f"{default_value:g}" if isinstance(default_value, float) else f"{default_value:,}"
        )
    if setting.name in current.overrides:
        st.button(
            f"Reset to {default_label}",
            key=f"back-{current.number}-{setting.name}",
            type="tertiary",
            icon=":material/undo:",
            on_click=draft.reset,
            args=(current, setting.name),
        )


def _train_button(current: Draft) -> None:
    """Draw the Train button, and the run's cost or why it cannot start."""
    key = f"title-{current.number}"
    visibility = (
        "Other visitors can see it."
        if current.task
        else "Only you can see it until you share the run."
    )
    current.title = st.text_input(
        "Name of the run", placeholder=draft.title(current), key=key, help=visibility, max_chars=100
    )[:100]
    config, problem = None, ""
    try:
        config = draft.config(current)
    except ValueError as error:
        problem = frame.as_sentence(error)
    with st.container(horizontal=True, vertical_alignment="center"):
        frame.callback_button(
            "Train", "play_arrow", _submit, current, type="primary", disabled=config is None
        )
        if current.overrides:
            st.button(
                "Reset all settings",
                type="tertiary",
                icon=":material/undo:",
                on_click=draft.reset,
                args=(current, *current.overrides),
            )
    if problem:
        st.warning(frame.plain(problem))
    elif config:
        pairs = tuple(current.pairs[:SAMPLE_PAIRS])
        live = live_jobs.time_estimate(config, pairs) is None
        fragment(_cost, "cost", POLL_SECONDS if live else None)(config, pairs, live)


def _cost(config: TrainingRun, pairs: tuple[tuple[str, str], ...], live: bool) -> None:
    """Draw the run's cost; rerun the page once a separate process has measured its duration."""
    estimate = live_jobs.time_estimate(config, pairs)
    if live and estimate is not None:
        state.rerun_page()
    count = count_parameters(config.model)
    steps = config.training.steps
    time = quantities.format_estimate(estimate)
    if isinstance(estimate, Estimate):
        limit = 60 * live_jobs.jobs().limits.minutes
        time = f"about **{quantities.duration(estimate.seconds)}** here"
        if estimate.seconds >= limit:
            time += ", the limit of this server: it will end before its last step"
        if waiting := sum(info.status == "queued" for info in live_jobs.jobs().runs()):
            time += f", after {waiting} other run{'s' if waiting > 1 else ''} in the queue"
    elif isinstance(estimate, str):
        time = frame.plain(estimate)
    st.caption(f"**{quantities.weights(count)}** weights · **{steps:,}** steps · {time}")


def _submit(current: Draft) -> None:
    config, pairs = draft.config(current), draft.pairs(current)
    if attempt("train", lambda: live_jobs.start_run(config, pairs)):
        draft.close_form()


PREVIEW_ROWS = 3
EXAMPLE = "one cat\tun chat\ntwo cats\tdeux chats\n…"


def _own_pairs(current: Draft) -> None:
    """Draw the widgets for the pairs and put them into the draft, or show what is wrong."""
    max_bytes = live_jobs.jobs().limits.upload_bytes
    st.markdown("**Your pairs**")
    st.caption(
        "Only you and the operator of this server can see your pairs, the run and its model, until "
        "you share the run on its page."
    )
    text_key = f"pasted-{current.number}"
    if text_key not in st.session_state:  # a default would be sent to the browser at every rerun
        st.session_state[text_key] = current.text
    current.text = st.text_area(
        "Paste one pair per line: source, a tab, target",
        placeholder=EXAMPLE,
        height=150,
        key=text_key,
        help="Also accepted: a vertical bar, a dash, an arrow or an equals sign between source and "
        "target, comma-separated values, or an export of Tatoeba.",
    )
    file = st.file_uploader(
        "Or upload a .tsv, .csv or .txt file in UTF-8",  # Streamlit adds the maximum size
        type=["tsv", "csv", "txt"],
        max_upload_size=max(1, math.ceil(max_bytes / 1e6)),
        key=f"uploaded-{current.number}",
    )
    reading = own_pairs.Reading([], "", "")
    if file is not None and file.size > max_bytes:
        problem = f"{file.name} has {file.size:,} bytes; this app allows at most {max_bytes:,}."
        reading = own_pairs.Reading([], "", problem)
    elif file is not None:
        try:
            text = decode_text(file.getvalue(), file.name)
        except ValueError as error:
            reading = own_pairs.Reading([], "", str(error))
        else:
            reading = _read(current, text, file.name, max_bytes)
    elif not is_blank(current.text):
        reading = _read(current, current.text, "The text", max_bytes)
    current.pairs = reading.pairs
    if reading.problem:
        st.warning(frame.plain(frame.as_sentence(reading.problem)))
    elif reading.pairs:
        _preview(reading.pairs, reading.layout)
    draft.refit_steps(current)


def _read(current: Draft, text: str, name: str, max_bytes: int) -> own_pairs.Reading:
    """Return the pairs of a text, which are read again only if the text has changed. Ask for the
    columns of source and target if they are not clear."""
    if current.reading is None or current.reading[:2] != (text, name):
        current.reading = text, name, own_pairs.read(text, name, max_bytes)
    reading = current.reading[2]
    if reading.cells and (columns := _chosen_columns(current, reading.cells)):
        return own_pairs.read(text, name, max_bytes, columns)
    return reading


def _chosen_columns(current: Draft, cells: Sequence[str]) -> own_pairs.Columns | None:
    """Draw two fields for the columns of source and target; return them once they are chosen."""
    with st.container(horizontal=True):
        source, target = (
            st.selectbox(
                f"Column of the {side}",
                range(len(cells)),
                index=None,
                format_func=lambda column: f"{column + 1}: {cells[column][:40]}",
                placeholder="Choose a column",
                key=f"{side}-column-{current.number}",
            )
            for side in ("source", "target")
        )
    return None if source is None or target is None or source == target else (source, target)


def _preview(pairs: own_pairs.Pairs, layout: str) -> None:
    held_out = min(MAX_HOLDOUT_PAIRS, 1 + (len(pairs) - 1) // HOLDOUT_INTERVAL)
    caption = (
        f"{len(pairs):,} pairs ({layout}), {held_out:,} of them held out for validation. The first "
        f"{min(PREVIEW_ROWS, len(pairs))}:"
    )
    tables.show(caption, ["Source", "Target"], pairs[:PREVIEW_ROWS])
