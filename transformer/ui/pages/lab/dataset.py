"""Trace a file of sentences and export the result as one dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.dataset.writing import PAGE_BYTES
from transformer.analysis.interventions.switching import named_heads
from transformer.figures.state import KINDS
from transformer.jobs.computation import Computation, dataset_computation
from transformer.measures.head_codes import LETTERS
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.services import models
from transformer.ui.services.live_jobs import computation_service
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import corpus, exact, frame, tables
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.computed import PREVIEW_LETTERS, computed
from transformer.ui.widgets.tables import download

HOLDS = {
    "translations.parquet": "one row per sentence: its translation, score, tokens",
    "steps.parquet": "one row per output token: its probability and the candidates",
    "measures.parquet": "one row per sentence and head: every measure",
    "weights.npz": "the attention weights of the selected heads",
    "about.json": "the model, the options, and a description of each measure",
}
PREVIEW = 4
"""Sentences of the preview."""
READ = """import zipfile

import numpy as np
import pandas as pd

zipfile.ZipFile({name!r}).extractall("dataset")
measures = pd.read_parquet("dataset/measures.parquet")
print(measures.groupby(["kind", "layer", "head"]).entropy.mean())
"""
WEIGHTS = """
stored = np.load("dataset/weights.npz")  # every sentence end to end, no padding
offsets, shapes = stored["{kind}.offsets"], stored["{kind}.shapes"]
print(stored[{head!r}][offsets[0] : offsets[1]].reshape(shapes[0]))  # the first sentence
"""


def show(model: Model) -> None:
    frame.lead_text(
        "Translates and traces every sentence of a file, and exports the numbers as **one "
        "dataset** for pandas, R or another tool."
    )
    texts = corpus.choose(model)
    if texts is None:
        return
    given = any(sentence.target for sentence in texts.sentences)
    _how(given)
    heads = _heads(model)
    options = {} if given else _searched()
    what = dataset_computation(models.checkpoints()[model.name], model.hash, texts, heads, options)
    found = computed(
        what,
        button="Trace all sentences",
        about="The checkpoint en-fr takes a few seconds per hundred sentences.",
    )
    if found is not None:
        _download(model, texts, heads, what, found)
    else:
        _preview(model, texts, heads)


def _preview(model: Model, texts: Corpus, heads: str) -> None:
    """Show what the dataset will hold, and its first translations."""
    files = [(file, holds) for file, holds in HOLDS.items() if heads or file != "weights.npz"]
    tables.show("Files of the dataset", ["File", "Contents"], files)
    short = [each for each in texts.sentences if len(each.source) <= PREVIEW_LETTERS][:PREVIEW]
    rows = [(each.source, each.target or _translated(model, each.source)) for each in short]
    tables.show("Preview: the first sentences", ["Sentence", "Translation"], rows)


@cached()
def _translated(model: Model, text: str) -> str:
    try:
        return model.translator.translate(text, candidates=1).text
    except ValueError as error:
        return f"({error})"


def _how(given: bool) -> None:
    """Where the translations come from."""
    if given:
        st.caption(
            "These sentences have translations, which are traced as given, with the probability "
            "that the model assigns to them. Without translations, the model translates them."
        )
        return
    method = _searched()["method"]
    how = {
        "greedy": "greedily",
        "beam": f"by beam search with beam size {state.view().beam_size}",
        "sample": f"by sampling with seed {state.view().seed}",
    }
    st.caption(
        f"The model translates each sentence {how[method]}. Change this on the page Translate."
    )


def _searched() -> dict[str, Any]:
    """How the session translates; greedily where it forces a translation on one sentence."""
    view = state.view()
    return {"method": "greedy"} if view.method == "forced" else view.decoding()


def _heads(model: Model) -> str:
    """A box for the heads whose weights are kept, whole layers among them; as `--heads` has them.
    What the model has not is let go of."""
    names: dict[str, str] = {}
    for kind, label in KINDS.items():
        for layer in range(model.n_layers):
            whole = f"{LETTERS[kind]}{layer}"
            names[whole] = f"{label}, {exact.layer(layer)}, all heads"
            for head in range(model.n_heads):
                names[f"{whole}.{head}"] = f"{label}, {exact.head(layer, head)}"
    asked = [one for one in state.view(Lab).traced.split(",") if one in names]
    state.set_fields(traced=",".join(asked))
    st.multiselect(
        "Include attention weights of",
        list(names),
        format_func=names.__getitem__,
        placeholder="None: tables only",
        help=f"Up to {PAGE_BYTES / 1e6:.0f} MB of weights: about 300 sentences of 25 tokens for "
        "all heads of the checkpoint en-fr. Measures always cover all heads.",
        **controlled("traced", asked, lambda chosen: state.change(traced=",".join(chosen))),
    )
    return state.view(Lab).traced


def _download(
    model: Model, texts: Corpus, heads: str, what: Computation, found: Mapping[str, Any]
) -> None:
    """What is in it, the way to take it, and how to read it."""
    name = f"{file_name('dataset', model.name, texts.name)}.zip"
    path = computation_service().file(what)
    download(
        f"Download ({_size(found['bytes'])})",
        path.read_bytes,
        name,
        key="dataset",
    )
    rows = [
        (file, holds, _size(found["files"][file]))
        for file, holds in HOLDS.items()
        if file in found["files"]
    ]
    tables.show("Files of the dataset", ["File", "Contents", "Size"], rows)
    shown = "The first sentences" if len(texts) > len(found["first"]) else "The sentences"
    tables.show(shown, ["Sentence", "Translation"], found["first"])
    chosen = named_heads(model.translator.model.config, heads)
    code = READ.format(name=name)
    if chosen:
        kind, layer, number = chosen[0]
        code += WEIGHTS.format(kind=kind, head=f"{LETTERS[kind]}{layer}.{number}")
    exact.python_code("Read it in Python", code)


def _size(count: int) -> str:
    text = f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
    return text.replace(" ", "\u00a0")
