"""Trace a file of sentences and export the result as one dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.dataset.writing import MAX_PAGE_BYTES
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
from transformer.ui.widgets import corpus, display_names, frame, tables
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.computed import MAX_PREVIEW_CHARACTERS, computed
from transformer.ui.widgets.tables import download

CONTENTS = {
    "translations.parquet": "one row per sentence: its translation, score, tokens",
    "steps.parquet": "one row per output token: its probability and the candidates",
    "measures.parquet": "one row per sentence and head: every measure",
    "weights.npz": "the attention weights of the selected heads",
    "about.json": "the model, the options, and a description of each measure",
}
PREVIEW_SENTENCES = 4
"""Number of sentences to translate before the visitor starts the computation."""
READ_PROGRAM = """import zipfile

import numpy as np
import pandas as pd

zipfile.ZipFile({name!r}).extractall("dataset")
measures = pd.read_parquet("dataset/measures.parquet")
print(measures.groupby(["kind", "layer", "head"]).entropy.mean())
"""
WEIGHTS_PROGRAM = """
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
    translated = any(sentence.target for sentence in texts.sentences)
    _translation_note(translated)
    heads = _head_choice(model)
    options = {} if translated else _decoding_options()
    computation = dataset_computation(
        models.checkpoints()[model.name], model.hash, texts, heads, options
    )
    dataset = computed(
        computation,
        button="Trace all sentences",
        description="The checkpoint en-fr takes a few seconds per hundred sentences.",
    )
    if dataset is not None:
        _download(model, texts, heads, computation, dataset)
    else:
        _preview(model, texts, heads)


def _preview(model: Model, texts: Corpus, heads: str) -> None:
    """Show which files the dataset will contain, and its first translations."""
    files = [
        (file, contents) for file, contents in CONTENTS.items() if heads or file != "weights.npz"
    ]
    tables.show("Files of the dataset", ["File", "Contents"], files)
    sample = [
        sentence for sentence in texts.sentences if len(sentence.source) <= MAX_PREVIEW_CHARACTERS
    ][:PREVIEW_SENTENCES]
    rows = [
        (sentence.source, sentence.target or _cached_translation(model, sentence.source))
        for sentence in sample
    ]
    tables.show("Preview: the first sentences", ["Sentence", "Translation"], rows)


@cached()
def _cached_translation(model: Model, text: str) -> str:
    try:
        return model.translator.translate(text, candidates=1).text
    except ValueError as error:
        return f"({error})"


def _translation_note(translated: bool) -> None:
    """Draw a note on where the translations come from."""
    if translated:
        st.caption(
            "These sentences have translations, which are traced unchanged, with the "
            "probability that the model assigns to them. Sentences without translations are "
            "translated by the model."
        )
        return
    method = _decoding_options()["method"]
    descriptions = {
        "greedy": "greedily",
        "beam": f"by beam search with beam size {state.view().beam_size}",
        "sample": f"by sampling with seed {state.view().seed}",
    }
    st.caption(
        f"The model translates each sentence {descriptions[method]}. To change the decoding "
        "method, open the Translate page."
    )


def _decoding_options() -> dict[str, Any]:
    """Return the session's decoding options; greedy instead of forced decoding."""
    view = state.view()
    return {"method": "greedy"} if view.method == "forced" else view.decoding()


def _head_choice(model: Model) -> str:
    """Draw a menu of the heads and layers whose weights to include. Return them in the format of
    the option `--heads`, without heads in the address that the model does not have."""
    names: dict[str, str] = {}
    for kind, label in KINDS.items():
        for layer in range(model.n_layers):
            layer_code = f"{LETTERS[kind]}{layer}"
            names[layer_code] = f"{label}, {display_names.layer(layer)}, all heads"
            for head in range(model.n_heads):
                names[f"{layer_code}.{head}"] = f"{label}, {display_names.head(layer, head)}"
    selected = [code for code in state.view(Lab).dataset_heads.split(",") if code in names]
    state.set_fields(dataset_heads=",".join(selected))
    st.multiselect(
        "Include attention weights of",
        list(names),
        format_func=names.__getitem__,
        placeholder="None: tables only",
        help=f"Up to {MAX_PAGE_BYTES / 1e6:.0f} MB of weights: about 300 sentences of 25 tokens "
        "for all heads of the checkpoint en-fr. Measures always cover all heads.",
        **controlled(
            "dataset_heads",
            selected,
            lambda codes: state.change(dataset_heads=",".join(codes)),
        ),
    )
    return state.view(Lab).dataset_heads


def _download(
    model: Model, texts: Corpus, heads: str, computation: Computation, dataset: Mapping[str, Any]
) -> None:
    """Draw the download button, the contents of the dataset, and Python code to read it."""
    name = f"{file_name('dataset', model.name, texts.name)}.zip"
    path = computation_service().file(computation)
    download(
        f"Download ({_format_size(dataset['bytes'])})",
        path.read_bytes,
        name,
        key="dataset",
    )
    rows = [
        (file, contents, _format_size(dataset["files"][file]))
        for file, contents in CONTENTS.items()
        if file in dataset["files"]
    ]
    tables.show("Files of the dataset", ["File", "Contents", "Size"], rows)
    title = "The first sentences" if len(texts) > len(dataset["first"]) else "The sentences"
    tables.show(title, ["Sentence", "Translation"], dataset["first"])
    chosen = named_heads(model.translator.model.config, heads)
    code = READ_PROGRAM.format(name=name)
    if chosen:
        kind, layer, number = chosen[0]
        code += WEIGHTS_PROGRAM.format(kind=kind, head=f"{LETTERS[kind]}{layer}.{number}")
    display_names.python_code("Read it in Python", code)


def _format_size(n_bytes: int) -> str:
    text = f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:.1f} kB"
    return text.replace(" ", "\u00a0")
