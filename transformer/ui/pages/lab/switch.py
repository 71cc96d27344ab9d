"""Switch off heads, change rows and tokens, and compare with the original."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from html import escape

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.interventions.comparison import Comparison
from transformer.analysis.interventions.switching import Head, switched_off
from transformer.figures import ExplorerData, explorer_page
from transformer.figures.before_after import pairs
from transformer.figures.state import KINDS
from transformer.figures.switchboard import switchboard_data
from transformer.inference.results import Translation
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import HEADS_FORM, Lab, pruning, switch_changes, switch_head
from transformer.ui.pages.lab.attribution_head import escaped_token
from transformer.ui.pages.lab.switch_changes import Plan, compared, given_options, plan
from transformer.ui.services import models, trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import controls, exact, frame, tables
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.tables import download
from transformer.ui.widgets.views import component

SINGLE = 6
"""Heads that are tried one by one before whole layers are."""
MAX_PIECES = 128
"""Pieces of the longer side: of longer texts the tables say little and cost much."""
_board = component("switchboard")


def show(model: Model) -> None:
    """The switchboard, what it changes, and one head of it."""
    frame.lead_text(
        "Is a head needed? Switch it off and see. Changes apply to this page only and are part of "
        "its link."
    )
    controls.sentence(model)
    cached_trace = trace_cache.read(model, state.view(Lab))
    trace = cached_trace.trace
    longest = max(len(trace.src_tokens), len(trace.tgt_tokens))
    if longest > MAX_PIECES:
        st.info(
            f"This text has {longest} tokens; heads can be switched off for up to {MAX_PIECES}. "
            "Choose one sentence of it."
        )
        return
    view = state.view(Lab)
    made = plan(model, cached_trace, view)
    found, refused = None, None
    try:
        # Before the tables are drawn: the browser that draws them would take the processor.
        found = None if made.empty else compared(model, cached_trace, view, made)
    except ValueError as error:
        refused = error
    _heads(cached_trace)
    switch_changes.show_further(model, cached_trace)
    for problem in made.problems:
        st.warning(frame.plain(frame.as_sentence(problem)))
    if refused:
        raise refused  # what was switched is there to be put back
    effect = ""
    if found is None:
        _nothing_yet(model, cached_trace)
    else:
        effect = _effect(made, found)
        _show_changes(model, cached_trace, made, found, effect)
    switch_head.show(model, cached_trace, made, found, effect)


def _heads(cached_trace: CachedTrace) -> None:
    view = state.view(Lab)
    data = switchboard_data(
        cached_trace.side, KINDS, view.off, large=view.size == "large", exact=exact.is_on()
    )
    _board(key="switchboard", data=data, on_choice_change=_switched)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.button_row(
            "means",
            help="**Zero ablation**: the output of the head is 0. **Uniform attention**: it "
            "attends to all tokens equally. **Mean ablation**: its output is its mean over the "
            "examples above.",
        )
        first = Lab()
        changes = {name: getattr(first, name) for name in ("off", "paint", "away", "patch")}
        frame.state_button(
            "Restore everything",
            "undo",
            changes,
            disabled=all(getattr(view, name) == value for name, value in changes.items()),
        )


def _switched() -> None:
    off = st.session_state["switchboard"]["choice"].get("off", "")
    if fits(off, HEADS_FORM[0]):
        state.change(off=off)


def _nothing_yet(model: Model, cached_trace: CachedTrace) -> None:
    """What to begin with: what really changes this sentence first."""
    last = model.n_layers - 1
    layer, head = cached_trace.side.clearest("cross")
    st.info(
        f"Nothing is changed yet: the translation is **{frame.plain(cached_trace.trace.text)}** "
        "Switch off a head above, or start with one of these."
    )
    with st.container(horizontal=True):
        if state.view(Lab).method == "greedy":
            st.button(
                "Fewest heads that change a word",
                type="primary",
                icon=":material/search:",
                help="Searches the six most important cross-attention heads one by one, then whole "
                "layers, then all of them.",
                on_click=_change_a_word,
                args=(model,),
            )
        for label, off in (
            (f"Strongest cross-attention head, {exact.short(layer, head)}", f"c{layer}.{head}"),
            ("Last layer of cross-attention", f"c{last}"),
            ("All decoder self-attention", ",".join(f"d{n}" for n in range(model.n_layers))),
        ):
            frame.state_button(label, "toggle_off", {"off": off})


def _change_a_word(model: Model) -> None:
    """Switch off the first that changes the translation; if nothing does, all that look across."""
    state.change(off=_telling(model, state.view(Lab).text), means="zero")


@cached("Searching for important heads …")
def _telling(model: Model, text: str) -> str:
    """Heads as the address has them. For a text that has been translated."""
    translator, config = model.translator, model.translator.model.config
    needed = gradient_importances(translator, Corpus.of_lines([text], "one sentence"))["sentence"]
    heads = [head for head in reversed(needed.order()) if head[0] == "cross"][:SINGLE]
    layers = range(config.n_layers)
    sets: list[list[Head]] = [[head] for head in heads]
    for kind in ("cross", "decoder", "encoder"):
        sets += [[(kind, n, head) for head in range(config.n_heads)] for n in reversed(layers)]
    sets.append([("cross", n, head) for n in layers for head in range(config.n_heads)])
    whole = translator.translate(text, candidates=1)
    for off in sets:
        hooks = switched_off(config, off)
        found = translator.translate(text, hooks=hooks, candidates=1, max_len=len(whole.ids) + 12)
        if found.text != whole.text:
            break
    return pruning.head_codes(off)


Shares = npt.NDArray[np.float32]
_CHIP = "display:inline-block;padding:0 .4em;margin:.1em .15em;border-radius:5px;"
_SAME = _CHIP + "background:#8882"
_NEW = _CHIP + "background:#00926a33;outline:2px solid #00926a;font-weight:600"
_GONE = _CHIP + "outline:1px dashed #8889;text-decoration:line-through"


def fits(text: object, form: str) -> bool:
    """Whether what a browser tells has the form that an address must have."""
    return isinstance(text, str) and re.fullmatch(form, text, re.ASCII) is not None


def _show_changes(
    model: Model, cached_trace: CachedTrace, made: Plan, found: Comparison, effect: str
) -> None:
    """In words, as bars, and as a picture of all heads."""
    st.header("What changes")
    st.markdown(effect)
    st.html(_beside(found.original.translation, found.translation))
    table = found.probabilities
    tokens = exact.tokens(table["token"].to_list())
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.markdown("**Probability of each token of the original translation**")
        chart(
            pairs(
                tokens,
                table["before"].to_numpy(),
                table["after"].to_numpy(),
                across="probability",
                marked=found.overturned,
                dark=dark(),
            ),
            "switch-pairs",
        )
        st.caption(
            "Each token is predicted from the original prefix, so that both can be compared. Bold: "
            "another token is now the most probable."
        )
    with right:
        _overturned(found)
    _attention(cached_trace, found)
    _ways_on(model, made, found)


def _beside(original: Translation, altered: Translation) -> str:
    """Both as pieces; what is no longer written is struck, what is new is framed."""
    matcher = SequenceMatcher(None, original.tokens, altered.tokens, autojunk=False)
    lines: dict[str, list[str]] = {"Original": [], "Altered": []}
    for what, a, b, c, d in matcher.get_opcodes():
        styles = (_SAME, _SAME) if what == "equal" else (_GONE, _NEW)
        for name, shown, tokens in (
            ("Original", styles[0], original.tokens[a:b]),
            ("Altered", styles[1], altered.tokens[c:d]),
        ):
            kept = "" if what == "equal" else "gone" if name == "Original" else "new"
            lines[name] += [
                f'<span style="{shown}" title="{kept}"><bdi>{_chip(token)}</bdi></span>'
                for token in tokens
            ]
    return "".join(
        f'<div style="margin:.3rem 0;line-height:1.9"><span style="display:inline-block;'
        f'min-width:5.2rem;opacity:.75">{name}</span>{"".join(chips)}</div>'
        for name, chips in lines.items()
    )


def _chip(token: str) -> str:
    name = exact.token(token)
    if name.startswith("▁") and len(name) > 1:
        return f'<span class="hu-word">▁</span>{escape(name[1:])}'
    return escape(name)


def _overturned(found: Comparison) -> None:
    st.markdown("**Steps with a new most probable token**")
    best = found.candidates[found.candidates["rank"] == 0]
    rows = [
        (
            f"{exact.number(int(line['position']))} {exact.token(line['token'])}",
            f"{exact.token(line['token_before'])} {line['probability_before']:.0%}",
            f"{exact.token(line['token_after'])} {line['probability_after']:.0%}",
        )
        for line in best[best["position"].isin(found.overturned)].to_dict("records")
    ]
    if rows:
        tables.show(
            "The most probable candidate at these steps of the original translation",
            ("Step", "Before", "After"),
            rows,
        )
    else:
        st.caption("None: the most probable token is the same at every step.")


def moved(found: Comparison) -> dict[str, Shares]:
    """By kind, how far every head's attention moved, where that can be said."""
    same = found.original.src_ids == found.forced.src_ids
    return {kind: found.attention(kind) for kind in KINDS if same or kind == "decoder"}


def moved_table(shares: dict[str, Shares]) -> pd.DataFrame:
    """A line a head: kind, layer, head, and how far its attention moved."""
    rows = [
        (kind, layer, head, float(share))
        for kind, of_kind in shares.items()
        for (layer, head), share in np.ndenumerate(of_kind)
    ]
    return pd.DataFrame(rows, columns=["kind", "layer", "head", "moved"])


def _attention(cached_trace: CachedTrace, found: Comparison) -> None:
    st.markdown("**Change in the attention of every head**, in percent")
    view = state.view(Lab)
    shares = moved(found)
    if len(shares) < len(KINDS):
        st.caption(
            "With tokens removed, only decoder self-attention is still over the same tokens."
        )
    now = cached_trace.side.resolved(view.explorer())
    data = switchboard_data(
        cached_trace.side,
        KINDS,
        view.off,
        moved=shares,
        chosen=(str(now["kind"]), int(now["layer"]), int(now["head"])),
        large=view.size == "large",
        exact=exact.is_on(),
    )
    _board(key="moved-heads", data=data, on_choice_change=_chosen)
    table = moved_table(shares)
    kind, layer, head, share = table.iloc[int(table["moved"].to_numpy().argmax())]
    most = (
        f"Greatest in {exact.head(layer, head)} ({KINDS[kind]}): {share:.0%} of its weight has "
        "moved, averaged over the rows."
    )
    st.caption(
        (most if share >= 0.005 else "None: no head comes after the change.")
        + " Click a head to see it below. Measured as total variation, ½ Σ |a − b|, along the "
        "original translation."
    )


def _chosen() -> None:
    told = st.session_state["moved-heads"]["choice"]
    kind, layer, head = (told.get(name) for name in ("kind", "layer", "head"))
    if kind in KINDS and isinstance(layer, int | float) and isinstance(head, int | float):
        state.change(kind=kind, layer=int(layer), head=int(head), row=-1, column=-1)


def _ways_on(model: Model, made: Plan, found: Comparison) -> None:
    view, source = state.view(Lab), found.original.source
    with st.container(horizontal=True):
        for label, name, table in (
            ("Probabilities (.csv)", "probabilities", lambda: found.probabilities),
            ("Candidates (.csv)", "candidates", lambda: found.candidates),
            ("Attention changes (.csv)", "attention-moved", lambda: moved_table(moved(found))),
        ):
            tables.csv(label, table, file_name(f"altered-{name}", model.name, source))
        download(
            "Comparison as web page (.html)",
            lambda: explorer_page(
                [ExplorerData(found.original, "original"), ExplorerData(found.forced, "altered")],
                {
                    "view": "compare",
                    "kind": view.kind,
                    "layer": view.layer,
                    "head": view.head,
                    "exact": view.exact,
                },
                "Original and altered",
            ),
            file_name("altered", model.name, source) + ".html",
        )
    folder = str(models.public_path(model.name))
    exact.python_code("The same from Python", _program(model, folder, view, made))


def _effect(made: Plan, found: Comparison) -> str:
    """What became of the translation, in a sentence."""
    *first, last = made.what
    begun = f"{', '.join(first)} and {last}" if first else last
    begun = begun[0].upper() + begun[1:]
    table = found.probabilities
    at = int((table["after"] - table["before"]).abs().to_numpy().argmax())
    line = table.iloc[at]
    token = escaped_token(str(line["token"]))
    before, after = float(line["before"]), float(line["after"])
    if abs(after - before) < 0.005:
        effect = f"{begun}, no token of the translation changes by half a percent"
    else:
        way = "falls" if after < before else "rises"
        effect = f"{begun}, “{token}” {way} from **{before:.0%}** to **{after:.0%}**"
    written = frame.plain(found.translation.text) or "(empty)"
    if found.original.translation.method == "forced":
        return f"{effect}; without forced decoding, the changed model writes **{written}**"
    if found.changed:
        return f"{effect}; the translation becomes **{written}**"
    return f"{effect}; the translation stays **{frame.plain(found.translation.text)}**"


def _program(model: Model, folder: str, view: Lab, made: Plan) -> str:
    names = {"compare", *made.imports, *(["together"] if len(made.lines) > 1 else [])}
    given = given_options(view)
    hooks = made.lines[0] if len(made.lines) == 1 else f"together({', '.join(made.lines)})"
    shorter = ", altered=shorter" if made.text is not None else ""
    free = "" if view.method == "forced" else given
    return "\n".join(
        [
            "from transformer import Translator",
            f"from transformer.analysis.interventions import {', '.join(sorted(names))}",
            "",
            f"translator = Translator.load({folder!r})",
            f"text = {view.text!r}",
            "config = translator.model.config",
            f"trace = translator.trace(text{given})",
            *made.program,
            *([f"hooks = {hooks}"] if made.lines else ["hooks = None"]),
            f"found = compare(translator, text, hooks{shorter}, original=trace{free})",
            "print(found.translation.text)",
            "print(found.probabilities)  # of the original's tokens, before and after",
            'print(found.attention("cross"))  # how far every head moved',
        ]
    )
