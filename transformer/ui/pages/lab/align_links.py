"""Gold links of one sentence: the corpus's, or clicked and typed by the visitor."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from transformer.analysis.alignment.sentence_alignment import Aligned
from transformer.analysis.corpora.gold import Gold, Link, parse_links
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.widgets import frame, tables


def hold(trace: Trace) -> None:
    """Forget the visitor's links once the sentence is another: they count other words."""
    now = (trace.source, trace.text)
    before, links = st.session_state.get("links-about", (now, ""))
    if before != now and links == state.view(Lab).links:
        state.normalise(links="")
    st.session_state["links-about"] = (now, state.view(Lab).links)


def given(made: Aligned, known: Gold | None) -> Gold | None:
    """The visitor's links, else those of the corpus; None if there are neither."""
    links = state.view(Lab).links
    if not links:
        return known
    try:
        return _gold(made, links.replace(",", " "))
    except ValueError as error:
        st.warning(frame.plain(f"{frame.sentence(error)} Your links are ignored."))
        return known


def show(made: Aligned, gold: Gold | None, known: Gold | None) -> None:
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
            st.session_state["links-refused"] = frame.sentence(error)
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
