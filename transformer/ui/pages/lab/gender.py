"""Gender bias: the gender of two translated occupations, for one minimal pair and over WinoMT."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import streamlit as st

from transformer.analysis.gender.minimal_pair import MinimalPair, PairSide, minimal_pair
from transformer.analysis.gender.nouns import LANGUAGES
from transformer.analysis.gender.occupation_gender import OccupationGender
from transformer.analysis.gender.pronoun_heads import KINDS as ATTENTION_KINDS
from transformer.analysis.gender.pronoun_heads import N_HEADS
from transformer.analysis.gender.sentences import EXAMPLES, WORD, pronoun_positions
from transformer.analysis.interventions.switching import Head, switched_off
from transformer.figures.state import KINDS
from transformer.languages import language_name
from transformer.ui import state
from transformer.ui.pages.lab import Lab, gender_figures
from transformer.ui.services import models
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame, tables

PRONOUNS = {"he": "With he", "she": "With she"}
_CHIP = "padding:0 .3em;margin:0 2px;border-radius:5px;font-weight:600;"
_STYLES = {
    "masculine": f"{_CHIP}background:#0072b22e;outline:2px solid #0072b2",
    "feminine": f"{_CHIP}background:#d55e002e;outline:2px dashed #d55e00",
    None: f"{_CHIP}background:#8882;outline:1px dotted #888",
}
MAX_CHARACTERS = 300
"""Maximum length of the sentence."""


def show(model: Model) -> None:
    frame.lead_text(
        "English *the nurse* has no gender, but its French or German translation needs one. The "
        "pronoun tells the gender of one of the two people, and nothing tells that of the other. "
        "The sentence is translated with **he** and with **she**: does the gender follow?"
    )
    if (reason := _unsuitable(model)) is not None:
        st.info(reason)
        return
    _sentence()
    pair = _pair(model)
    if pair is not None:
        _translations(pair)
        heads = _pronoun_heads(model, pair)
        _heads(pair, heads, over_winomt=_has_heads(model))
        if state.view(Lab).without_pronoun_heads:
            _without_heads(model, pair, heads)
        _code(model)
    gender_figures.show(model)


def _unsuitable(model: Model) -> str | None:
    """Return why this model cannot be used here; None if it can."""
    languages = model.description.languages
    if languages is None or languages[0] != "en" or languages[1] not in LANGUAGES:
        targets = " or ".join(language_name(code) for code in LANGUAGES)
        return (
            f"This experiment needs a model that translates English into {targets}, such as en-fr; "
            f"{frame.plain(model.name)} {_task_of(model)}."
        )
    if model.aligner is None:
        return (
            "This model has no aligner head, which finds the translation of an occupation; "
            "`python -m benchmarks.gold_alignments` chooses one and stores it with the model."
        )
    return None


def _task_of(model: Model) -> str:
    """Return what a model does, as the end of a sentence about it."""
    if model.description.languages is None:
        return "does not translate between known languages"
    source, target = frame.plain(model.description.source), frame.plain(model.description.target)
    return f"translates {source} into {target}"


def _sentence() -> None:
    st.text_input(
        placeholder=EXAMPLES[0], live="400ms", max_chars=MAX_CHARACTERS, **state.bound("pair")
    )
    current = state.view(Lab).pair
    st.session_state["pair-example"] = current if current in EXAMPLES else None
    st.pills(
        "Examples",
        EXAMPLES,
        key="pair-example",
        required=True,
        label_visibility="collapsed",
        on_change=_choose_example,
    )


def _choose_example() -> None:
    if st.session_state["pair-example"] is not None:
        state.change(pair=st.session_state["pair-example"])


def _pair(model: Model) -> MinimalPair | None:
    """Return the minimal pair; None after a warning if the sentence has none."""
    try:
        return _cached_pair(model, state.view(Lab).pair, ())
    except ValueError as error:
        st.warning(frame.plain(frame.as_sentence(error)))
        return None


@cached("Translating both sentences …")
def _cached_pair(model: Model, text: str, off: tuple[Head, ...]) -> MinimalPair:
    translator = model.translator
    if model.aligner is None or model.description.languages is None:
        raise ValueError("the model needs an aligner head and known languages")
    hooks = switched_off(translator.model.config, off) if off else None
    return minimal_pair(translator, model.aligner, model.description.languages[1], text, hooks)


def _translations(pair: MinimalPair, title: str = "") -> None:
    for column, (name, label) in zip(st.columns(2), PRONOUNS.items(), strict=True):
        side: PairSide = getattr(pair, name)
        with column, st.container(border=True, gap="xsmall"):
            st.markdown(f"**{label}{title}**")
            st.html(f"<div>{_source_html(side.source)}</div>")
            st.html(f'<div style="line-height:2">{_translation_html(side)}</div>')
    tables.show(
        "Grammatical gender of each occupation, whichever of them the pronoun refers to",
        ["Occupation", *PRONOUNS.values(), "Effect of the pronoun"],
        [
            [
                occupation,
                _reading_text(pair.he, n),
                _reading_text(pair.she, n),
                _verdict(*pair.genders(n)),
            ]
            for n, occupation in enumerate(pair.occupations)
        ],
    )


def _source_html(text: str) -> str:
    return _marked(text, dict.fromkeys(_pronouns(text), "text-decoration:underline"), {})


def _pronouns(text: str) -> list[int]:
    return pronoun_positions(WORD.findall(text))


def _translation_html(side: PairSide) -> str:
    styles: dict[int, str] = {}
    labels: dict[int, str] = {}
    for occupation_gender in side.occupation_genders:
        for position in (occupation_gender.article, occupation_gender.noun):
            if position >= 0:
                styles[position] = _STYLES[occupation_gender.gender]
        if occupation_gender.noun >= 0:
            labels[occupation_gender.noun] = occupation_gender.gender or "not decidable"
    return _marked(side.text, styles, labels)


def _marked(text: str, styles: dict[int, str], labels: dict[int, str]) -> str:
    """Return the text as HTML, with styles and small labels for some of its words."""
    parts, end = [], 0
    for n, match in enumerate(WORD.finditer(text)):
        parts.append(escape(text[end : match.start()]))
        word = escape(match[0])
        parts.append(f'<span style="{styles[n]}">{word}</span>' if n in styles else word)
        if n in labels:
            parts.append(f"<sub>&nbsp;{labels[n]}</sub>")
        end = match.end()
    return "".join([*parts, escape(text[end:])])


def _reading_text(side: PairSide, occupation: int) -> str:
    occupation_gender = side.occupation_genders[occupation]
    return f"{_words_of(side, occupation_gender)}{_gender_text(occupation_gender)}"


def _words_of(side: PairSide, occupation_gender: OccupationGender) -> str:
    words = [
        side.words[position]
        for position in (occupation_gender.article, occupation_gender.noun)
        if position >= 0
    ]
    return " ".join(words).replace("' ", "'") + ": " if words else ""


def _gender_text(occupation_gender: OccupationGender) -> str:
    if occupation_gender.gender is None:
        return f"not decidable, {occupation_gender.reason}"
    note = (
        ""
        if occupation_gender.person
        else ", from its article only, as the noun is no known word for a person"
    )
    return f"{occupation_gender.gender}{note}"


def _verdict(he: str | None, she: str | None) -> str:
    if he is None or she is None:
        return "cannot be compared"
    return "changes the gender" if he != she else f"none: {he} with both"


def _has_heads(model: Model) -> bool:
    return model.gender is not None and model.gender.effect is not None


def _pronoun_heads(model: Model, pair: MinimalPair) -> list[Head]:
    """Return the heads chosen over WinoMT, else those that attend most to this pair's pronoun."""
    if model.gender is not None and model.gender.effect is not None:
        return [(head.kind, head.layer, head.head) for head in model.gender.effect.heads]
    return pair.heads(N_HEADS)


def _heads(pair: MinimalPair, heads: Sequence[Head], *, over_winomt: bool) -> None:
    st.header("Which heads attend to the pronoun?")
    st.markdown(
        (
            "These heads attend most to the pronoun over WinoMT, a test set of such sentences: "
            if over_winomt
            else "These heads attend most to the pronoun in this pair: "
        )
        + "encoder heads from the occupation, cross-attention heads when the decoder predicts its "
        "article. For comparison, the last column has the weight on a word next to the pronoun."
    )
    rows = []
    for kind, layer, head in heads:
        weights = [
            _mean(side.weights[:, ATTENTION_KINDS.index(kind), layer, head])
            for side in (pair.he, pair.she)
        ]
        rows.append(
            [
                f"{KINDS[kind]}, {display_names.head(layer, head)}",
                *(percent(head_weights[0]) for head_weights in weights),
                percent((weights[0][1] + weights[1][1]) / 2),
            ]
        )
    tables.show(
        "Attention weights in this pair, means over its occupations",
        ["Head", "Weight on he", "Weight on she", "Weight on a word next to it"],
        rows,
    )
    is_off = bool(state.view(Lab).without_pronoun_heads)
    frame.state_button(
        "Switch these heads on" if is_off else "Switch these heads off",
        "toggle_on" if is_off else "toggle_off",
        {"without_pronoun_heads": int(not is_off)},
        type="secondary" if is_off else "primary",
    )


def percent(share: float) -> str:
    """Format a share; a dash if no occupation has weights, so that the share is NaN."""
    return "–" if np.isnan(share) else f"{100 * share:.0f}%"


def _mean(weights: np.ndarray) -> np.ndarray:
    """Return the mean over the occupations that have weights; NaN if none has."""
    available = weights[~np.isnan(weights).any(-1)]
    return available.mean(0) if len(available) else np.full(2, np.nan)


def _without_heads(model: Model, pair: MinimalPair, heads: Sequence[Head]) -> None:
    st.header("Without these heads")
    pair_without_heads = _cached_pair(model, state.view(Lab).pair, tuple(heads))
    _translations(pair_without_heads, ", heads off")
    genders_before = [pair.genders(n) for n in range(len(pair.occupations))]
    genders_after = [
        pair_without_heads.genders(n) for n in range(len(pair_without_heads.occupations))
    ]
    changed = sum(
        old_gender != new_gender
        for old_pair, new_pair in zip(genders_before, genders_after, strict=True)
        for old_gender, new_gender in zip(old_pair, new_pair, strict=True)
    )
    st.markdown(
        f"**{changed} of {2 * len(genders_before)} genders differ from those with all heads.** "
        "A head that attends to the pronoun has other functions too, so other words may change as "
        "well."
    )


def _code(model: Model) -> None:
    languages = model.description.languages or ("en", "fr")
    display_names.python_code(
        "The same from Python",
        f"""from transformer import Translator
from transformer.analysis.alignment.aligner_head import load_aligner_head
from transformer.analysis.gender.minimal_pair import minimal_pair
from transformer.checkpoint import checkpoint_hash

folder = {str(models.public_path(model.name))!r}
translator = Translator.load(folder)
aligner = load_aligner_head(folder, checkpoint_hash(folder), translator.model.config)
pair = minimal_pair(translator, aligner, {languages[1]!r}, {state.view(Lab).pair!r})
print(pair.he.text, pair.she.text, sep="\\n")
print([pair.genders(n) for n in range(len(pair.occupations))], pair.heads())""",
    )
