"""One sentence aligned by one head, beside gold links: the corpus's, or the visitor's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st

from transformer.analysis.alignment.leaderboard import By, To
from transformer.analysis.alignment.sentence_alignment import Aligned, aligned
from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import Gold, Link, parse_links
from transformer.figures.alignment import alignment, two_rows
from transformer.inference import Trace
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.services import models, trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls, exact, frame, tables
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.charts import chart, dark

MAX_WORDS = 64
"""Words of a side: more cannot be drawn so that anybody reads it."""

UNASKED = "align-unasked"
"""The line that is drawn because nobody has chosen one: the best takes its place once known."""


def show(model: Model, texts: Corpus | None, found: Mapping[str, Any] | None) -> None:
    """The visitor's sentence or one of the corpus; `found` is the leaderboard, if there is one."""
    st.header("One sentence")
    controls.sentence(model)
    _of_corpus(texts)
    if state.view(Lab).method == "forced":
        st.text_input("Translation", live="400ms", **state.bound("target"))
        frame.state_button(
            "Use the model's translation",
            "translate",
            {"method": "greedy", "target": "", "links": ""},
        )
    reading = trace_cache.read(model, state.view(Lab))
    _choose(model)
    view = state.view(Lab)
    known = _known(texts, reading.trace)
    by: By = "norms" if view.by == "norms" else "weights"
    to: To = "input" if view.to == "input" else "output"
    site, trace = f"decoder.layers.{view.layer}.cross_attn.hook_", reading.trace
    if by == "norms":
        trace = trace_cache.with_sites(model, reading, [site + "value", site + "heads"])
    words = None if known is None else (known.source_words, known.target_words)
    made = aligned(model.translator.model, trace, view.layer, view.head, by, to, words)
    if max(len(made.source), len(made.target)) > MAX_WORDS:
        st.info(f"Sentences of more than {MAX_WORDS} words cannot be drawn; choose a shorter one.")
        return
    _forget_stale_links(trace)
    gold = _chosen_links(made, known)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _picture(model, made, gold)
    with right:
        _show_links(made, gold, known)
    _shift(made, by, found)
    _away(model, made, trace, words)


def drawn(view: Lab) -> tuple[object, ...]:
    """The line of the leaderboard that is drawn."""
    return view.kind, view.layer, view.head, view.by, view.to


def _of_corpus(texts: Corpus | None) -> None:
    """A way to the corpus's sentences that have gold links."""
    held = [s for s in texts.sentences if s.gold is not None] if texts is not None else []
    if not held:
        return
    view = state.view(Lab)
    here = [at for at, s in enumerate(held) if (s.source, s.target) == (view.text, view.target)]

    def take(at: int) -> None:
        state.change(text=held[at].source, method="forced", target=held[at].target, links="")

    st.selectbox(
        f"Or one of the {len(held)} sentences with gold links",
        range(len(held)),
        format_func=lambda at: held[at].source,
        placeholder="Choose, or type to search",
        **controlled("of-corpus", here[0] if here else None, take),
    )


def open_aligner(model: Model) -> None:
    """Where no cross head is chosen, choose the aligner head that was measured for this model."""
    view, aligner = state.view(Lab), model.aligner
    if aligner and (min(view.layer, view.head) < 0 or view.kind != "cross"):
        place = {"layer": aligner.layer, "head": aligner.head, "by": aligner.by, "to": aligner.to}
        state.set_fields(kind="cross", **place)


def _choose(model: Model) -> None:
    now = state.view(Lab)
    if now.layer < 0 or now.head < 0:
        state.set_fields(layer=max(now.layer, 0), head=max(now.head, 0))
        st.session_state[UNASKED] = drawn(state.view(Lab))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.layer_and_head(model)
        controls.button_row("by")
        controls.button_row("to")


def _known(texts: Corpus | None, trace: Trace) -> Gold | None:
    """The gold links of the corpus, if it has this sentence with this translation."""
    for sentence in texts.sentences if texts is not None else ():
        if (sentence.source, sentence.target) == (trace.source, trace.text):
            return sentence.gold
    return None


def _picture(model: Model, made: Aligned, gold: Gold | None) -> None:
    figure = alignment(
        made.source,
        made.target,
        made.links(),
        made.scores[made.to],
        sure=None if gold is None else gold.sure,
        possible=() if gold is None else gold.possible,
        names=(model.about.source, model.about.target),
        dark=dark(),
    )
    chart(figure, "alignment")


def _away(
    model: Model,
    made: Aligned,
    trace: Trace,
    words: tuple[tuple[str, ...], tuple[str, ...]] | None,
) -> None:
    view = state.view(Lab)
    with st.container(horizontal=True, vertical_alignment="center"):
        frame.page_button(
            "pages/attention.py",
            "Open this head",
            "visibility",
            kind="cross",
            word_row=view.to,
            view="heatmap",
            tokens="",
            row=-1,
            column=-1,
        )
        head = exact.in_file(view.layer, view.head)
        name = file_name("alignment", model.name, trace.source, head)
        tables.csv("This alignment (.csv)", lambda: made.to_frame(), name)
    target = "" if view.method == "greedy" else f", target={trace.text!r}"
    given = "" if words is None else f", gold={words!r}"
    exact.python_code(
        "The same from Python",
        f"""from transformer import Translator
from transformer.analysis.alignment.sentence_alignment import aligned

translator = Translator.load({str(models.public_path(model.name))!r})
trace = translator.trace({trace.source!r}{target})
found = aligned(translator.model, trace, {view.layer}, {view.head}, {view.by!r}, {view.to!r}{given})
print(found.links())
print(found.to_frame())""",
    )


def _shift(made: Aligned, by: By, found: Mapping[str, Any] | None) -> None:
    """The row that writes a word against the row that reads it."""
    st.header("Shifted by one")
    st.markdown(
        "The decoder input is shifted right by one token: the position that **reads** a word "
        "**predicts** the next one. A word therefore has two rows of attention, one at the "
        "predicting and one at the reading position. Read from the wrong row, a good aligner seems "
        "to be off by one word."
    )
    view = state.view(Lab)
    now = made.owners[min(view.step, len(made.owners) - 1)]
    st.selectbox(
        "Word",
        sorted(set(made.owners)),
        format_func=lambda j: f"{j}: {made.target[j]}",
        width=220,
        **controlled("shift-word", now, lambda j: state.change(step=made.owners.index(j))),
    )
    word = made.target[now]
    before = made.target[now - 1] if now else exact.token("<s>")
    after = made.target[now + 1] if now + 1 < len(made.target) else exact.token("</s>")
    rows = [
        (f"reads {before}, writes {word}", made.scores["output"][now]),
        (f"reads {word}, writes {after}", made.scores["input"][now]),
    ]
    unit = "attention weight" if by == "weights" else "norm of the contribution, ‖α f(x)‖"
    chart(two_rows(made.source, rows, unit, dark=dark()), "shift")
    writes, reads = (made.source[int(values.argmax())] for _, values in rows)
    st.markdown(
        f"For **{frame.plain(word)}**, the predicting position gives most weight to "
        f"**{frame.plain(writes)}**, the reading position to **{frame.plain(reads)}**."
    )
    if found is not None:
        _over_corpus(found)


def _over_corpus(found: Mapping[str, Any]) -> None:
    view = state.view(Lab)
    agreement = {
        line["to"]: 100 * (1 - line["aer"])
        for line in found["table"]
        if (line["aligner"], line["by"], line["layer"], line["head"])
        == ("head", view.by, view.layer, view.head)
    }
    better = max(agreement, key=agreement.__getitem__)
    told = {"output": "the word it is about to write", "input": "the word it has just read"}
    st.markdown(
        f"Over the corpus this head agrees with the gold links in **{agreement['output']:.1f} %** "
        f"at the predicting position and **{agreement['input']:.1f} %** at the reading position: "
        f"it aligns {told[better]}. Chen et al. (2020, section 3) found that low layers align the "
        "input word better and higher layers the output word."
    )


def _forget_stale_links(trace: Trace) -> None:
    """Forget the visitor's links once the sentence is another: they count other words."""
    now = (trace.source, trace.text)
    before, links = st.session_state.get("links-about", (now, ""))
    if before != now and links == state.view(Lab).links:
        state.set_fields(links="")
    st.session_state["links-about"] = (now, state.view(Lab).links)


def _chosen_links(made: Aligned, known: Gold | None) -> Gold | None:
    """The visitor's links, else those of the corpus; None if there are neither."""
    links = state.view(Lab).links
    if not links:
        return known
    try:
        return _gold(made, links.replace(",", " "))
    except ValueError as error:
        st.warning(frame.plain(f"{frame.as_sentence(error)} Your links are ignored."))
        return known


def _show_links(made: Aligned, gold: Gold | None, known: Gold | None) -> None:
    """The agreement, the links as a table, and how to give others."""
    if gold is None:
        st.info("This sentence has no gold links yet. Add them below to score the head.")
    else:
        st.metric(
            "Agreement of this head on this sentence",
            f"{100 * (1 - made.error(gold)):.1f} %",
            help=_formula(made, gold),
        )
    with st.expander("Your gold links", expanded=gold is None):
        _click(made, gold)
        _type(made, gold)
        if state.view(Lab).links:
            st.button(
                "Restore the links of the corpus" if known is not None else "Remove all",
                on_click=state.change,
                kwargs={"links": ""},
            )
    with st.expander("Links as a table"):
        tables.show("One row per target word", ["Target", "Head", "Gold"], _lines(made, gold))


def _formula(made: Aligned, gold: Gold) -> str:
    found = made.links()
    sure, possible = len(found & gold.sure), len(found & gold.possible)
    return (
        f"1 − AER = (|A∩S| + |A∩P|) / (|A| + |S|) = ({sure} + {possible}) / ({len(found)} + "
        f"{len(gold.sure)}), with A the head's links, S the sure and P the possible ones."
    )


def _gold(made: Aligned, text: str) -> Gold:
    sure, possible = parse_links(text)
    return Gold(made.source, made.target, sure, possible)


def _written(sure: Collection[Link], possible: Collection[Link]) -> str:
    """As the address has it."""
    links = {**dict.fromkeys(possible, "p"), **dict.fromkeys(sure, "-")}
    return ",".join(f"{i}{between}{j}" for (i, j), between in sorted(links.items()))


def _click(made: Aligned, gold: Gold | None) -> None:
    """A target word, and buttons for the source words that it belongs to."""
    sure = gold.sure if gold is not None else frozenset()
    possible = gold.possible if gold is not None else frozenset()
    word = st.selectbox(
        "Target word",
        range(len(made.target)),
        format_func=lambda j: f"{j}: {made.target[j]}",
        key=f"links-word-{len(made.target)}",
    )
    key = f"links-of-{word}-{hash((made.source, made.target, sure))}"
    if key not in st.session_state:
        st.session_state[key] = sorted(i for i, j in sure if j == word)

    def take() -> None:
        kept = {link for link in sure if link[1] != word}
        chosen = {(int(i), int(word)) for i in st.session_state[key]}
        state.change(links=_written(kept | chosen, possible - sure))

    st.pills(
        "Linked source words",
        range(len(made.source)),
        format_func=lambda i: f"{i}: {frame.plain(made.source[i])}",
        selection_mode="multi",
        key=key,
        on_change=take,
    )


def _type(made: Aligned, gold: Gold | None) -> None:
    now = "" if gold is None else _written(gold.sure, gold.possible).replace(",", " ")
    key = f"links-typed-{now}"
    if key not in st.session_state:
        st.session_state[key] = now.replace("p", "?")

    def take() -> None:
        st.session_state["links-refused"] = ""
        try:
            typed = _gold(made, st.session_state[key])
        except ValueError as error:
            st.session_state["links-refused"] = frame.as_sentence(error)
        else:
            state.change(links=_written(typed.sure, typed.possible))

    st.text_input(
        "All links as source-target, counted from 0",
        placeholder="0-0 1-2 2?1",
        max_chars=2000,
        key=key,
        on_change=take,
    )
    if refused := st.session_state.pop("links-refused", ""):
        st.warning(frame.plain(refused))


def _lines(made: Aligned, gold: Gold | None) -> list[list[str]]:
    found = made.links()

    def named(links: Collection[Link], word: int) -> str:
        return ", ".join(made.source[i] for i, j in sorted(links) if j == word) or "–"

    return [
        [text, named(found, j), "–" if gold is None else named(gold.possible, j)]
        for j, text in enumerate(made.target)
    ]
