"""One sentence aligned by one head, compared with gold links of the corpus."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from transformer.analysis.alignment.aligner_errors import TARGET_ROWS, ScoreKind, TargetRow
from transformer.analysis.alignment.aligner_head import AlignerHead
from transformer.analysis.alignment.sentence_alignment import WordAlignment, align_words
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import GoldAnnotations, Link
from transformer.figures.alignment import alignment
from transformer.figures.state import KINDS
from transformer.inference import Trace
from transformer.measures import naming
from transformer.measures.naming import file_name
from transformer.ui.base import state
from transformer.ui.base.registry import HOME
from transformer.ui.pages.research import Research, bundled_sentences, corpus
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls, display_names, frame, tables
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.python_program import program_start

MAX_WORDS = 64
"""Maximum length of source and target; a picture of more words is not readable."""


def show(model: Model) -> None:
    """Draw the alignment of the visitor's sentence or of one from the corpus."""
    controls.sentence_field(model)
    picture = st.container()
    st.markdown(
        "Cross-attention often points from each word to the word it is translated from. How often? "
        "Compare it with **gold links**, human-made links between words."
    )
    texts = corpus.choose(model)
    _corpus_sentences(model, texts)
    controls.sentence_examples(model)
    if state.view(Research).method == "forced":
        st.text_input("Translation", live="400ms", **state.bound("target"))
        frame.state_button(
            "Use the model's translation",
            "translate",
            {"method": "greedy", "target": ""},
        )
    cached_trace = trace_cache.read(model, state.view(Research))
    _head_controls(model)
    view = state.view(Research)
    gold = _corpus_gold(texts, cached_trace.trace)
    score_kind: ScoreKind = "norms" if view.score_kind == "norms" else "weights"
    target_row: TargetRow = "input" if view.target_row == "input" else "output"
    prefix, trace = f"decoder.layers.{view.layer}.cross_attn.hook_", cached_trace.trace
    if score_kind == "norms":
        trace = trace_cache.with_hook_points(
            model, cached_trace, [prefix + "value", prefix + "heads"]
        )
    words = None if gold is None else (gold.source_words, gold.target_words)
    alignment = align_words(
        model.translator.model, trace, view.layer, view.head, score_kind, target_row, words
    )
    if max(len(alignment.source), len(alignment.target)) > MAX_WORDS:
        st.info(f"Sentences of more than {MAX_WORDS} words cannot be drawn; choose a shorter one.")
        return
    picture_column, links_column = picture.columns([3, 2], gap="large")
    with picture_column:
        st.markdown(f"**{KINDS['cross']}, {naming.head_name(view.layer, view.head)}**")
        _picture(model, alignment, gold)
    with links_column:
        _show_links(alignment, gold)
    if model.aligner is not None:
        _agreement_by_row(model.aligner)
    _export(model, alignment, trace, words)


def _corpus_sentences(model: Model, texts: Corpus | None) -> None:
    """Draw a menu of the corpus's sentences with gold links."""
    gold_sentences = [s for s in texts.sentences if s.gold is not None] if texts is not None else []
    if not gold_sentences:
        if texts is not None:
            advice = bundled_sentences.advice_on_links(model)
            st.info(f"These sentences have no gold links. {advice}")
        return
    view = state.view(Research)
    current = [
        index
        for index, s in enumerate(gold_sentences)
        if (s.source, s.target) == (view.text, view.target)
    ]

    def choose(index: int) -> None:
        state.change(
            text=gold_sentences[index].source,
            method="forced",
            target=gold_sentences[index].target,
        )

    st.selectbox(
        f"Or one of the {len(gold_sentences)} sentences with gold links",
        range(len(gold_sentences)),
        format_func=lambda index: gold_sentences[index].source,
        placeholder="Choose, or type to search",
        **controlled("of-corpus", current[0] if current else None, choose),
    )


def open_aligner(model: Model) -> None:
    """If no cross-attention head is selected, select the model's aligner head, else the first."""
    view, aligner = state.view(Research), model.aligner
    if min(view.layer, view.head) >= 0 and view.kind == "cross":
        return
    if aligner is None:
        state.set_fields(kind="cross", layer=0, head=0)
        return
    state.set_fields(
        kind="cross",
        layer=aligner.layer,
        head=aligner.head,
        score_kind=aligner.score_kind,
        target_row=aligner.target_row,
    )


def _head_controls(model: Model) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.layer_and_head(model)
        controls.button_row("score_kind")
        controls.button_row("target_row")


def _corpus_gold(texts: Corpus | None, trace: Trace) -> GoldAnnotations | None:
    """Return the corpus's gold links of this sentence and translation, if it has them."""
    for sentence in texts.sentences if texts is not None else ():
        if (sentence.source, sentence.target) == (trace.source, trace.text):
            return sentence.gold
    return None


def _picture(model: Model, aligned: WordAlignment, gold: GoldAnnotations | None) -> None:
    figure = alignment(
        aligned.source,
        aligned.target,
        aligned.links(),
        aligned.scores[aligned.target_row],
        sure=None if gold is None else gold.sure,
        possible=() if gold is None else gold.possible,
        names=(model.description.source, model.description.target),
        dark=dark(),
    )
    chart(figure, "alignment")


def _export(
    model: Model,
    alignment: WordAlignment,
    trace: Trace,
    words: tuple[tuple[str, ...], tuple[str, ...]] | None,
) -> None:
    view = state.view(Research)
    with st.container(horizontal=True, vertical_alignment="center"):
        frame.page_button(
            HOME,
            "Open this head",
            "visibility",
            kind="cross",
            word_row=view.target_row,
            depth="heads",
            view="heatmap",
            tokens="",
            row=-1,
            column=-1,
        )
        head = display_names.for_file_name(view.layer, view.head)
        name = file_name("alignment", model.name, trace.source, head)
        tables.csv("This alignment (.csv)", lambda: alignment.to_frame(), name)
    target = "" if view.method == "greedy" else f", target={trace.text!r}"
    gold = "" if words is None else f", gold={words!r}"
    display_names.python_code(
        "The same from Python",
        f"""{program_start(model, None, ["alignment.sentence_alignment import align_words"])}
trace = translator.trace({trace.source!r}{target})
layer, head = {view.layer}, {view.head}
scores, row = {view.score_kind!r}, {view.target_row!r}
alignment = align_words(translator.model, trace, layer, head, scores, row{gold})
print(alignment.links())
print(alignment.to_frame())""",
    )


def _agreement_by_row(aligner: AlignerHead) -> None:
    """Compare the row of the position that predicts a word with that of the position that reads it,
    on human-made links, if the aligner head is selected."""
    view, gold = state.view(Research), aligner.gold[0]
    if (view.layer, view.head) != (aligner.layer, aligner.head):
        return
    agreement = {row: 100 * (1 - gold.head[f"{view.score_kind}-{row}"]) for row in TARGET_ROWS}
    better = max(agreement, key=agreement.__getitem__)
    descriptions = {"output": "the word it is about to write", "input": "the word it has just read"}
    st.markdown(
        f"Over {gold.sentences:,} sentences this head agrees with human-made links in "
        f"**{agreement['output']:.1f}%** at the predicting position and "
        f"**{agreement['input']:.1f}%** at the reading position: it aligns "
        f"{descriptions[better]}. Chen et al. (2020, section 3) found that low layers align the "
        "input word better and higher layers the output word."
    )


def _show_links(alignment: WordAlignment, gold: GoldAnnotations | None) -> None:
    """Draw the agreement, if there are gold links, and a table of all links."""
    if gold is not None:
        st.metric(
            "Agreement of this head on this sentence",
            f"{100 * (1 - alignment.error(gold)):.1f}%",
            help=_formula(alignment, gold),
        )
    with st.expander("Links as a table"):
        tables.show(
            "One row per target word", ["Target", "Head", "Gold"], _link_table(alignment, gold)
        )


def _formula(alignment: WordAlignment, gold: GoldAnnotations) -> str:
    links = alignment.links()
    sure, possible = len(links & gold.sure), len(links & gold.possible)
    return (
        f"1 − AER = (|A∩S| + |A∩P|) / (|A| + |S|) = ({sure} + {possible}) / ({len(links)} + "
        f"{len(gold.sure)}), with A the head's links, S the sure and P the possible ones."
    )


def _link_table(alignment: WordAlignment, gold: GoldAnnotations | None) -> list[list[str]]:
    head_links = alignment.links()

    def source_words(links: Collection[Link], word: int) -> str:
        return ", ".join(alignment.source[i] for i, j in sorted(links) if j == word) or "–"

    return [
        [text, source_words(head_links, j), "–" if gold is None else source_words(gold.possible, j)]
        for j, text in enumerate(alignment.target)
    ]
