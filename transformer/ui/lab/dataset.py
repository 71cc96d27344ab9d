"""A file of sentences traced whole, and taken away as one dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.dataset.writing import PAGE_BYTES
from transformer.analysis.interventions.switching import named_heads
from transformer.figures.naming import file_name
from transformer.figures.state import KINDS
from transformer.figures.switchboard import LETTERS
from transformer.jobs.computation import Computation, of_dataset
from transformer.ui import frame, models, state
from transformer.ui.kit import corpus, exact, tables
from transformer.ui.kit.callbacks import follows
from transformer.ui.kit.computed import computed
from transformer.ui.kit.tables import download
from transformer.ui.lab import Lab
from transformer.ui.live_jobs import computing
from transformer.ui.models import Model

HOLDS = {
    "translations.parquet": "a line a sentence: its translation, score, tokens",
    "steps.parquet": "a line a piece written: its probability and the candidates",
    "measures.parquet": "a line a sentence and head: every measure that one sentence has",
    "weights.npz": "the attention weights of the heads that you chose",
    "about.json": "which model, which options, what each measure says",
}
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
    frame.lead(
        "Every sentence of a file, translated and looked into, as **one file** to take away: for "
        "pandas, R, or whatever you count with."
    )
    texts = corpus.chosen(model)
    if texts is None:
        return
    given = any(sentence.target for sentence in texts.sentences)
    _how(given)
    heads = _heads(model)
    options = {} if given else _searched()
    what = of_dataset(models.checkpoints()[model.name], model.hash, texts, heads, options)
    found = computed(
        what,
        button="Trace them all",
        about="Nothing is traced yet. The checkpoint en-fr takes some seconds for every hundred "
        "sentences.",
    )
    if found is not None:
        _taken(model, texts, heads, what, found)


def _how(given: bool) -> None:
    """Where the translations come from."""
    if given:
        st.caption(
            "These sentences have translations: each is traced as it stands, with the probability "
            "that the model gives it. Bring sentences alone, and the model translates them."
        )
        return
    method = _searched()["method"]
    how = {
        "greedy": "greedily, the most probable next piece each time",
        "beam": f"with a beam of {state.view().beam_size}",
        "sample": f"by chance, with the seed {state.view().seed}",
    }
    st.caption(f"The model translates each sentence {how[method]}; the page Translate sets that.")


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
    state.normalise(traced=",".join(asked))
    st.multiselect(
        "Keep the weights of",
        list(names),
        format_func=names.__getitem__,
        placeholder="No head: tables alone",
        help=f"At most {PAGE_BYTES / 1e6:.0f} MB of weights: some 300 sentences of 25 pieces, if "
        "all heads of the checkpoint en-fr are kept. Measures are of all heads always.",
        **follows("traced", asked, lambda chosen: state.change(traced=",".join(chosen))),
    )
    return state.view(Lab).traced


def _taken(
    model: Model, texts: Corpus, heads: str, what: Computation, found: Mapping[str, Any]
) -> None:
    """What is in it, the way to take it, and how to read it."""
    name = f"{file_name('dataset', model.name, texts.name)}.zip"
    path = computing().file(what)
    download(
        f"Take the dataset ({_size(found['bytes'])})",
        path.read_bytes,
        name,
        key="dataset",
    )
    rows = [
        (file, holds, _size(found["files"][file]))
        for file, holds in HOLDS.items()
        if file in found["files"]
    ]
    tables.show("What is in the file", ["File", "Holds", "Size"], rows)
    shown = "The first sentences" if len(texts) > len(found["first"]) else "The sentences"
    tables.show(shown, ["Sentence", "Translation"], found["first"])
    chosen = named_heads(model.translator.model.config, heads)
    code = READ.format(name=name)
    if chosen:
        kind, layer, number = chosen[0]
        code += WEIGHTS.format(kind=kind, head=f"{LETTERS[kind]}{layer}.{number}")
    exact.program("Read it in Python", code)


def _size(count: int) -> str:
    text = f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"
    return text.replace(" ", "\u00a0")
