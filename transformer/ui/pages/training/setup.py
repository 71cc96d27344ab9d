"""The form for a new run: its task, its settings with their defaults, and its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import streamlit as st

from transformer.figures.glossary import tip
from transformer.jobs.limits import count_parameters
from transformer.run_config import TrainingRun
from transformer.text.tasks import TASKS
from transformer.text.visible import is_blank
from transformer.training.data import HOLDOUT_INTERVAL, MAX_HOLDOUT_PAIRS
from transformer.training.estimate import SAMPLE_PAIRS, Estimate
from transformer.ui import state
from transformer.ui.pages.training import draft
from transformer.ui.pages.training import own_pairs as own
from transformer.ui.pages.training.draft import Draft
from transformer.ui.services import live_jobs
from transformer.ui.services.uploads import decode_text
from transformer.ui.widgets import frame, quantities
from transformer.ui.widgets.fragment import POLL_SECONDS, fragment

OWN = "Your own sentences"


@dataclass(frozen=True)
class Number:
    """A setting with a number."""

    name: str
    label: str
    help: str
    least: float
    greatest: float
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
        "seed",
        "Seed",
        "",
        0,
        2**31 - 1,
    ),
    Choice(
        "precision",
        "Precision",
        "Of matrix products. “Fastest” is measured when the run starts, so it may differ from run "
        "to run.",
        {"fp32": "float32", "bf16": "bfloat16", "auto": "fastest on this machine"},
    ),
)
PIECES = Number(
    "vocab_size", "Vocabulary", "Number of subword tokens to learn from your text.", 32, 8000, 100
)


_PARTS = {
    "self_attn.w_qkv": "self-attention, queries first",
    "self_attn.w_o": "self-attention, output",
    "cross_attn.w_qkv": "cross-attention, queries first",
    "cross_attn.w_o": "cross-attention, output",
    "ffn.w_1.weight": "feed-forward, first",
    "ffn.w_2.weight": "feed-forward, second",
}


def form(now: Draft) -> None:
    """The whole form, and what the run would cost if nothing is wrong with it."""
    st.button("Back to Train", icon=":material/arrow_back:", type="tertiary", on_click=draft.close)
    left, right = st.columns([2, 3], gap="large")
    with right:  # first, for the button waits for what is chosen here
        if not now.task:
            _own_pairs(now)
        own = _own_settings(now)
        if own:
            _group("The task", now, own)
        _group("The model", now, MODEL)
        _group("The training", now, (*TRAINING, _matrix(now)))
    with left:
        _task(now)
        _go(now)


def _another(key: str) -> None:
    """Another task, unless the form is closed: on a slow machine the browser says once more what
    its widgets were, with the first look at the run that came of it."""
    if draft.now() is not None:
        draft.begin(st.session_state[key])


def _task(now: Draft) -> None:
    names = [*TASKS, ""]
    key = f"task-{now.turn}"
    st.selectbox(
        "Task",
        names,
        index=names.index(now.task),
        format_func=lambda name: TASKS[name].title if name else OWN,
        key=key,
        on_change=_another,
        args=(key,),
    )
    if now.task:
        task = TASKS[now.task]
        st.write(task.explanation)
        example = task.pairs(1, seed=5)[0]
        st.markdown(f"`{example.src}` → `{example.tgt}`")
        st.info(f"**What to look for.** {task.look_for}", icon=":material/visibility:")
    else:
        st.write(
            "The model learns to write the target when it reads the source. Any pairs of text will "
            "do: two languages, questions and answers, words and their plurals. A few hundred "
            "short pairs give a first result; thousands give a better one."
        )


def _own_settings(now: Draft) -> tuple[Setting, ...]:
    if not now.task:
        return (PIECES,)
    task = TASKS[now.task]
    return tuple(
        Number(name, name.replace("_", " ").capitalize(), task.meanings.get(name, ""), low, high)
        for name, (low, high, _) in task.options.items()
    )


def _matrix(now: Draft) -> Choice:
    names = {"embedding.weight": "Token embedding"}
    for layer in range(draft.value(now, "n_layers")):
        for stack in ("decoder", "encoder"):
            for part, label in _PARTS.items():
                if stack == "decoder" or not part.startswith("cross"):
                    names[f"{stack}.layers.{layer}.{part}"] = (
                        f"{stack.capitalize()} {layer}, {label}"
                    )
    if draft.value(now, "inspect") not in names:
        draft.back(now, "inspect")
    return Choice("inspect", "Matrix to watch", "The page shows its Adam updates in full.", names)


def _group(title: str, now: Draft, settings: tuple[Setting, ...]) -> None:
    st.markdown(f"**{title}**")
    for start in range(0, len(settings), 3):  # row by row, so that rows stay rows
        for column, setting in zip(st.columns(3), settings[start : start + 3], strict=False):
            with column:
                _widget(now, setting)


def _widget(now: Draft, setting: Setting) -> None:
    bound = draft.bound(now, setting.name)
    first = draft.default(now, setting.name)
    if isinstance(setting, Choice):
        st.selectbox(
            setting.label,
            list(setting.labels),
            format_func=lambda name: setting.labels[name],
            help=tip(setting.label) or setting.help,
            **bound,
        )
        shown = setting.labels[first]
    else:
        kind = type(first)
        st.number_input(
            setting.label,
            kind(setting.least),
            kind(setting.greatest),
            step=kind(setting.step),
            format=setting.format,
            help=tip(setting.label) or setting.help or None,
            **bound,
        )
        shown = f"{first:g}" if isinstance(first, float) else f"{first:,}"
    if setting.name in now.chosen:
        st.button(
            f"Reset to {shown}",
            key=f"back-{now.turn}-{setting.name}",
            type="tertiary",
            icon=":material/undo:",
            on_click=draft.back,
            args=(now, setting.name),
        )


def _go(now: Draft) -> None:
    """The button, and beside it either what the run would cost or why it cannot begin."""
    key = f"title-{now.turn}"
    whose = (
        "Other visitors can see it." if now.task else "Only you can see it until you share the run."
    )
    now.title = st.text_input(
        "Name of the run", placeholder=draft.title(now), key=key, help=whose, max_chars=100
    )[:100]
    config, problem = None, ""
    try:
        config = draft.config(now)
    except ValueError as error:
        problem = frame.as_sentence(error)
    with st.container(horizontal=True, vertical_alignment="center"):
        frame.callback_button(
            "Train", "play_arrow", _submit, now, type="primary", disabled=config is None
        )
        if now.chosen:
            st.button(
                "Reset all settings",
                type="tertiary",
                icon=":material/undo:",
                on_click=draft.back,
                args=(now, *now.chosen),
            )
    if problem:
        st.warning(frame.plain(problem))
    elif config:
        pairs = tuple(now.pairs[:SAMPLE_PAIRS])
        live = live_jobs.time_estimate(config, pairs) is None
        fragment(_cost, "cost", POLL_SECONDS if live else None)(config, pairs, live)


def _cost(config: TrainingRun, pairs: tuple[tuple[str, str], ...], live: bool) -> None:
    """What the run would cost; how long is measured beside the server, and looked for meanwhile."""
    found = live_jobs.time_estimate(config, pairs)
    if live and found is not None:
        state.rerun_page()
    count = count_parameters(config.model)
    steps = config.training.steps
    time = quantities.format_estimate(found)
    if isinstance(found, Estimate):
        most = 60 * live_jobs.jobs().limits.minutes
        time = f"about **{quantities.duration(found.seconds)}** here"
        if found.seconds >= most:
            time += ", the limit here: it will end before its last step"
        if waiting := sum(info.status == "queued" for info in live_jobs.jobs().runs()):
            time += f", after {waiting} other run{'s' if waiting > 1 else ''} in the queue"
    elif isinstance(found, str):
        time = frame.plain(found)
    st.caption(f"**{quantities.weights(count)}** weights · **{steps:,}** steps · {time}")


def _submit(now: Draft) -> None:
    draft.submit(draft.config(now), draft.files(now))


SHOWN = 6
EXAMPLE = "one cat\tun chat\ntwo cats\tdeux chats\n…"


def _own_pairs(now: Draft) -> None:
    """Draw the widgets for the text and put its pairs into the draft, or say what is wrong."""
    most = live_jobs.jobs().limits.upload_bytes
    st.markdown("**Your pairs**")
    st.caption(
        "Only you and the operator of this server can see your pairs, the run and its model, until "
        "you share the run on its page."
    )
    now.text = st.text_area(
        "Paste one pair per line: source, a tab, target",
        now.text,
        placeholder=EXAMPLE,
        height=150,
        key=f"pasted-{now.turn}",
        help="Also accepted: a vertical bar or two or more spaces between source and target, "
        "comma-separated values, or a source and its target on alternating lines.",
    )
    file = st.file_uploader(
        "Or upload a .tsv, .csv or .txt file in UTF-8",  # its size stands in the field itself
        type=["tsv", "csv", "txt"],
        max_upload_size=max(1, math.ceil(most / 1e6)),
        key=f"uploaded-{now.turn}",
    )
    layout = ""
    try:
        if file is not None:
            if file.size > most:
                raise ValueError(
                    f"{file.name} has {file.size:,} bytes; this app allows at most {most:,}."
                )
            text = decode_text(file.getvalue(), file.name)
            now.pairs, layout = own.read(text, file.name, most)
        elif not is_blank(now.text):
            now.pairs, layout = own.read(now.text, "The text", most)
        else:
            now.pairs = []
    except ValueError as error:
        now.pairs = []
        st.warning(frame.plain(frame.as_sentence(error)))
    draft.refit_steps(now)
    if now.pairs:
        _preview(now.pairs, layout)


def _preview(found: own.Pairs, layout: str) -> None:
    aside = min(MAX_HOLDOUT_PAIRS, 1 + (len(found) - 1) // HOLDOUT_INTERVAL)
    st.caption(
        f"{len(found):,} pairs ({layout}), {aside:,} of them held out for validation. The first "
        f"{min(SHOWN, len(found))}:"
    )
    rows = "".join(
        f"<tr><td>{escape(src)}</td><td>{escape(tgt)}</td></tr>" for src, tgt in found[:SHOWN]
    )
    st.html(
        '<table class="hu-table"><thead><tr><th scope="col">Source</th>'
        f'<th scope="col">Target</th></tr></thead><tbody>{rows}</tbody></table>'
    )
