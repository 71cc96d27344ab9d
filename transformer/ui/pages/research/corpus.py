"""The corpus of measurements: bundled sentences, a run's validation set, or an upload.

corpus = choose(model)      # draws widgets; None if there is nothing to measure
if corpus is not None:
    result = computed.measured(model, corpus, "heads", …)   # None until it is done
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.api.address_fields import CORPORA
from transformer.text.pair_formats import split_text
from transformer.text.visible import is_blank
from transformer.ui.base import state, visitor
from transformer.ui.base.address import View
from transformer.ui.pages.research import bundled_sentences
from transformer.ui.services import models
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.uploads import decode_text, uploads
from transformer.ui.widgets import frame
from transformer.ui.widgets.callbacks import controlled

MAX_UPLOAD_BYTES = 1_000_000
"""Maximum bytes of an upload."""
SHOWN_EXAMPLES = 8
SHOWN_CHARACTERS = 300
"""Maximum characters of a sentence among the examples."""
FORMAT_HELP = """One sentence per line; or pairs, `source TAB target`; or pairs with a third column
of gold links in Pharaoh's format, which word alignment is scored against:

```text
I sleep .	je dors .	0-0 1-1 2-2
```

A link is the number of a source word, a hyphen, and the number of a target word. Words are
separated by spaces and counted from 0. `1?2` is a possible link, neither required nor wrong."""


def choose(model: Model) -> Corpus | None:
    """Draw the widgets that choose the corpus, once per page; return None and explain if there is
    none yet.

    They are folded away until the visitor has chosen a corpus. The choice is part of the URL, an
    upload is not.
    """
    owner = visitor.ensure_id()
    sources = _sources(model)
    if state.view().corpus not in ("", *sources):
        state.set_fields(corpus="")
    source, limit = state.view().corpus or sources[0], state.view().sentences
    is_default = not state.view().corpus and limit == View.fields()["sentences"].default
    label = f"Measured over: {CORPORA[source]} (at most {limit:,})"
    with st.expander(label, expanded=source == "upload" or not is_default):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            st.segmented_control(
                "Measured over",
                sources,
                format_func=CORPORA.__getitem__,
                required=True,
                **controlled("corpus", source, lambda chosen: state.change(corpus=chosen)),
            )
            st.number_input(step=100, width=170, **state.bound_number("sentences"))
        if source == "upload":
            _upload_form(owner)
        details = st.container()
    try:
        corpus = _load(model, source, owner, limit)
    except ValueError as error:
        st.warning(frame.plain(frame.as_sentence(error)))
        return None
    if corpus is not None:
        with details:
            _summary(corpus, source)
            if source == "ours" and (missing := bundled_sentences.limitation_note(model)):
                st.caption(missing)
    return corpus


def python_code(model: Model, corpus: Corpus) -> str:
    """Return a Python expression for the corpus of `choose`; it needs the name `Corpus`."""
    source = state.view().corpus or _sources(model)[0]
    if source == "run":
        return f"Corpus.from_run({str(models.public_path(model.name).parent)!r}, {len(corpus)})"
    if source == "upload":
        return f"Corpus.read({corpus.name!r}).first({len(corpus)})"
    return bundled_sentences.python_code(model, len(corpus), linked=source == "linked")


def _sources(model: Model) -> list[str]:
    """Return the available corpora for this model, the most suitable first."""
    run = models.checkpoints()[model.name].parent
    has_run = run.joinpath("config.json").is_file()
    sources = ["run"] if has_run else []
    if bundled_sentences.input_format(model):
        sources.append("ours")
    if bundled_sentences.has_linked_sentences(model):
        sources.append("linked")
    return [*sources, "upload"]


def _load(model: Model, source: str, owner: str, limit: int) -> Corpus | None:
    """Return the corpus; None without an upload. Raises ValueError if it cannot be read."""
    if source == "ours":
        return bundled_sentences.corpus(model, limit)
    if source == "linked":
        return bundled_sentences.linked(model, limit)
    if source == "run":
        return _run_corpus(str(models.checkpoints()[model.name].parent), model, limit)
    uploaded = uploads().get(owner)
    if uploaded is None:
        st.info("Upload a file or paste sentences, one per line. No other visitor sees them.")
        return None
    return _first_sentences(uploaded.name, uploaded, limit)


@cached("Reading the run's validation pairs …")
def _run_corpus(folder: str, model: Model, limit: int) -> Corpus:
    return Corpus.from_run(folder, limit)


@cached()
def _first_sentences(name: str, corpus: Corpus, limit: int) -> Corpus:
    return corpus.first(limit)


def _upload_form(owner: str) -> None:
    """Draw the upload form and the reason why the last upload was refused."""
    with st.expander("Your sentences", expanded=uploads().get(owner) is None):
        st.caption(
            "No other visitor sees your sentences, links or file name. They are deleted when the "
            "server stops."
        )
        file_column, right = st.columns(2)
        file_column.file_uploader(
            f"A .txt or .tsv file, UTF-8, up to {MAX_UPLOAD_BYTES / 1e6:g} MB",
            type=["txt", "tsv"],
            max_upload_size=MAX_UPLOAD_BYTES // 1_000_000,
            key="corpus-file",
            on_change=_take_file,
            args=(owner,),
        )
        right.text_area(
            "or paste them here",
            key="corpus-text",
            height=110,
            placeholder="One sentence per line",
            on_change=_take_text,
            args=(owner,),
        )
        st.markdown(FORMAT_HELP)
    if refused := st.session_state.get("corpus-refused"):
        st.warning(frame.plain(frame.as_sentence(refused)))


def _take_file(owner: str) -> None:
    file = st.session_state["corpus-file"]
    if file is not None:
        _store_upload(owner, file.getvalue(), Path(file.name).name)


def _take_text(owner: str) -> None:
    text = st.session_state["corpus-text"]
    if not is_blank(text):
        _store_upload(owner, text.encode("utf-8", "replace"), "Your text")


def _store_upload(owner: str, content: bytes, name: str) -> None:
    st.session_state["corpus-refused"] = ""
    try:
        uploads().put(owner, corpus_of_upload(content, name), visitor.address_hash())
    except ValueError as error:
        st.session_state["corpus-refused"] = str(error)
    state.change(corpus="upload")


def corpus_of_upload(content: bytes, name: str) -> Corpus:
    """Return the corpus of an uploaded file or text with this name. Raises ValueError."""
    if len(content) > MAX_UPLOAD_BYTES:
        raise ValueError(f"{name} has {len(content):,} bytes; the maximum is {MAX_UPLOAD_BYTES:,}.")
    return Corpus.from_lines(split_text(decode_text(content, name)), name)


def _summary(corpus: Corpus, source: str) -> None:
    """Draw the number of sentences, what they have, and a few examples."""
    count, n_without_target = len(corpus), sum(not sentence.target for sentence in corpus.sentences)
    name = frame.plain(
        corpus.name if source == "upload" else corpus.name[:1].upper() + corpus.name[1:]
    )
    parts = [f"{name}: {count:,} sentence{'s' if count > 1 else ''}"]
    parts.append(f"{corpus.n_gold:,} with gold links" if corpus.n_gold else "no gold links")
    if n_without_target:
        parts.append(f"{n_without_target:,} without a translation (the model's own is used)")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(", ".join(parts) + ".", width="content")
        with st.popover("Show examples", type="tertiary"):
            examples = corpus.sentences[:: max(1, count // SHOWN_EXAMPLES)][
                :SHOWN_EXAMPLES
            ]  # evenly spaced
            lines = [f"{_shorten(s.source)}\n    {_shorten(s.target)}".rstrip() for s in examples]
            st.code("\n".join(lines), language=None, wrap_lines=True)


def _shorten(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]} …"
