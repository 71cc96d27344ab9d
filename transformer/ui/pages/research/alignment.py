"""Word alignment: one sentence aligned by one head, and the best head on human-made links."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.alignment.aligner_errors import ScoreKind, TargetRow
from transformer.analysis.alignment.aligner_head import AlignerHead, GoldErrors
from transformer.analysis.alignment.sentence_alignment import WordAlignment, align_words
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import GoldAnnotations
from transformer.figures.alignment import alignment as alignment_figure
from transformer.inference import Trace
from transformer.measures import naming
from transformer.measures.naming import file_name
from transformer.ui.base import state
from transformer.ui.base.registry import HOME
from transformer.ui.pages.research import (
    ROW_LABELS,
    SCORE_LABELS,
    Research,
    bundled_sentences,
    corpus,
    experiment,
)
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls, display_names, frame, tables
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.charts import chart, dark
from transformer.ui.widgets.python_program import program_start

MAX_WORDS = 64
"""Maximum length of source and target; a picture of more words is not readable."""
PUBLISHED = {"fast_align": 0.105, "awesome-align": 0.041}
"""Alignment error rates on the Hansards, English–French (Dou and Neubig 2021)."""
PUBLISHED_LINKS = "Hansards, another corpus (Dou and Neubig 2021)"


def show(model: Model) -> None:
    """Draw the alignment of one sentence, and the best head over many sentences."""
    _open_aligner(model)
    controls.sentence_field(model)
    result = st.container()
    texts = corpus.choose(model)
    _corpus_sentences(model, texts)
    controls.sentence_examples(model)
    if state.view(Research).method == "forced":
        st.text_input("Translation", live="400ms", **state.bound("target"))
        frame.state_button(
            "Use the model's translation", "translate", {"method": "greedy", "target": ""}
        )
    with result:
        _sentence_alignment(model, texts)
    _best_head(model.aligner)


def _open_aligner(model: Model) -> None:
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
        frame.page_button(
            HOME,
            "Open this head",
            "visibility",
            kind="cross",
            word_row=state.view(Research).target_row,
            depth="heads",
            view="heatmap",
            tokens="",
            row=-1,
            column=-1,
        )


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


def _sentence_alignment(model: Model, texts: Corpus | None) -> None:
    """Draw the alignment of the sentence by the selected head."""
    view = state.view(Research)
    cached_trace = trace_cache.read(model, view)
    gold = _corpus_gold(texts, cached_trace.trace)
    score_kind: ScoreKind = "norms" if view.score_kind == "norms" else "weights"
    target_row: TargetRow = "input" if view.target_row == "input" else "output"
    prefix, trace = f"decoder.layers.{view.layer}.cross_attn.hook_", cached_trace.trace
    if score_kind == "norms":
        trace = trace_cache.with_hook_points(
            model, cached_trace, [prefix + "value", prefix + "heads"]
        )
    words = None if gold is None else (gold.source_words, gold.target_words)
    aligned = align_words(
        model.translator.model, trace, view.layer, view.head, score_kind, target_row, words
    )
    if max(len(aligned.source), len(aligned.target)) > MAX_WORDS:
        st.info(f"Sentences of more than {MAX_WORDS} words cannot be drawn; choose a shorter one.")
        return
    head = display_names.for_file_name(view.layer, view.head)
    experiment.show(
        experiment.Result(
            "All pairs of words",
            _sentence(aligned, gold),
            lambda: _draw(model, aligned, gold),
            _caption(aligned, gold),
            aligned.to_frame(),
            file_name("alignment", model.name, trace.source, head),
            _program(model, trace, words),
        )
    )


def _corpus_gold(texts: Corpus | None, trace: Trace) -> GoldAnnotations | None:
    """Return the corpus's gold links of this sentence and translation, if it has them."""
    for sentence in texts.sentences if texts is not None else ():
        if (sentence.source, sentence.target) == (trace.source, trace.text):
            return sentence.gold
    return None


def _sentence(aligned: WordAlignment, gold: GoldAnnotations | None) -> str:
    view = state.view(Research)
    head = naming.head_name(view.layer, view.head).capitalize()
    if gold is None:
        linked = len({source for source, _ in aligned.links()})
        return (
            f"**{head}** links the {len(aligned.target)} target words to **{linked}** of the "
            f"{len(aligned.source)} source words."
        )
    agreement = _agreement(aligned.error(gold))
    return f"**{head}** agrees with the human-made links of this sentence in **{agreement}**."


def _caption(aligned: WordAlignment, gold: GoldAnnotations | None) -> str:
    text = "Each target word is linked to the source word with the largest score in its row."
    if gold is None:
        return text
    links = aligned.links()
    sure, possible = len(links & gold.sure), len(links & gold.possible)
    return (
        f"{text} Agreement is 1 − AER = (|A∩S| + |A∩P|) / (|A| + |S|) = ({sure} + {possible}) / "
        f"({len(links)} + {len(gold.sure)}), with A the head's links, S the sure and P the "
        "possible ones (Och and Ney 2003)."
    )


def _draw(model: Model, aligned: WordAlignment, gold: GoldAnnotations | None) -> None:
    """Draw the links, and the choice of the head and its scores."""
    figure = alignment_figure(
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
    _head_controls(model)


def _program(
    model: Model, trace: Trace, words: tuple[tuple[str, ...], tuple[str, ...]] | None
) -> str:
    view = state.view(Research)
    target = "" if view.method == "greedy" else f", target={trace.text!r}"
    gold = "" if words is None else f", gold={words!r}"
    return f"""{program_start(model, None, ["alignment.sentence_alignment import align_words"])}
trace = translator.trace({trace.source!r}{target})
layer, head = {view.layer}, {view.head}
scores, row = {view.score_kind!r}, {view.target_row!r}
alignment = align_words(translator.model, trace, layer, head, scores, row{gold})
table = alignment.to_frame()
print(alignment.links())
print(table)"""


def _best_head(aligner: AlignerHead | None) -> None:
    """Draw the agreement of the best head with human-made links, beside published aligners."""
    st.header("The best head, over many sentences")
    if aligner is None:
        st.caption(
            "This model's heads have not been evaluated on human-made links. "
            "`python -m benchmarks.gold_alignments` evaluates them and stores the best head."
        )
        return
    name = naming.head_name(aligner.layer, aligner.head).capitalize()
    gold = aligner.gold[0]
    output, reading = (_agreement(gold.head[f"{aligner.score_kind}-{row}"]) for row in ROW_LABELS)
    st.markdown(
        f"Over {gold.sentences:,} sentences **{name}** agrees with human-made links in "
        f"**{output}** at the predicting position and **{reading}** at the reading position. Chen "
        "et al. (2020, section 3) found that low layers align the input word better and higher "
        "layers the output word."
    )
    rows = [row for gold_errors in aligner.gold for row in _rows(aligner, gold_errors, name)]
    rows += [(label, _agreement(rate), PUBLISHED_LINKS) for label, rate in PUBLISHED.items()]
    tables.show("Agreement with human-made links", ["Aligner", "Agreement", "Links"], rows)
    st.caption(
        "Agreement is 100% minus the alignment error rate (AER). The best head is measured "
        f"{SCORE_LABELS[aligner.score_kind]}, {ROW_LABELS[aligner.target_row]}. The diagonal links "
        "words at the same relative position. The links are not included in the app."
    )


def _rows(aligner: AlignerHead, gold: GoldErrors, name: str) -> list[tuple[str, str, str]]:
    best = gold.head[f"{aligner.score_kind}-{aligner.target_row}"]
    interval = f"{_agreement(best)} (95%: {_agreement(gold.high)} to {_agreement(gold.low)})"
    links = f"{gold.source}; {gold.sentences:,} pairs"
    return [
        (f"Best head: {name}", interval, links),
        ("Diagonal", _agreement(gold.diagonal), links),
    ]


def _agreement(error_rate: float) -> str:
    return f"{100 * (1 - error_rate):.1f}%"
