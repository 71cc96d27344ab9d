"""What a person looks at, and the address that brings someone else to the same view."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from transformer.figures.places import STOPS
from transformer.figures.state import DEFAULTS, State, check
from transformer.measures import MEASURES

KINDS = {"encoder": "Encoder", "decoder": "Decoder, masked", "cross": "Encoder–decoder"}
METHODS = {"greedy": "Greedy", "beam": "Beam", "sample": "Sampling", "forced": "Your own"}
PARTS = {
    "table": "Table 1",
    "time": "Time",
    "paths": "Paths",
    "race": "Race",
    "scores": "Scores",
    "results": "Results",
}
SECTIONS = {
    "walk": "The walk",
    "training": "As training sees it",
    "learning": "How it learns",
    "lens": "Logit lens",
    "bleu": "BLEU",
}
TOPICS = {
    "matrix": "The matrix",
    "waves": "Waves",
    "distance": "Distance",
    "shift": "Shift",
    "added": "What is added",
    "parts": "Word or place",
    "learned": "Learned",
    "far": "Far places",
    "slip": "A slip",
}
SIDES = {"source": "Source", "target": "Target"}
LABS = {
    "switch": "Switch heads off",
    "moves": "What a weight moves",
    "cards": "What each head does",
    "matter": "Which heads matter",
    "align": "Word alignment",
}
BESIDE = {
    "weight-norm": "Weight | norm",
    "weight-gradient": "Weight | gradient",
    "weight-product": "Weight | gradient × weight",
    "norm-gradient": "Norm | gradient",
    "norm-product": "Norm | gradient × weight",
    "gradient-product": "Gradient | gradient × weight",
}
BY = {"weights": "by weights", "norms": "by norms"}
TO = {"output": "off the row that writes it", "input": "off the row that reads it"}
COLOURS = {one.name: one.label for one in MEASURES.values()}
CORPORA = {
    "run": "The run's validation set",
    "ours": "Our sentences",
    "linked": "Linked by hand",
    "upload": "Your own",
}
EXAMPLE = "I am a student."
EXAMPLES = (
    EXAMPLE,
    "She has never seen the sea.",
    "If it rains, we will stay at home.",
    "Who gave you that red umbrella?",
)
RANGES: dict[str, tuple[float, float]] = {
    "beam_size": (2, 12),
    "length_penalty": (0.0, 2.0),
    "temperature": (0.1, 2.0),
    "top_k": (0, 100),
    "top_p": (0.05, 1.0),
    "seed": (0, 2**31 - 1),
    "n": (2, 65536),
    "d": (8, 4096),
    "k": (1, 31),
    "r": (1, 127),
    "dk": (1, 1024),
    "warmup": (1, 100_000),
    "dropout": (0.0, 0.9),
    "smoothing": (0.0, 0.9),
    "lesson": (0, 99),
    "shift": (-64, 64),
    "sentences": (1, 5000),
    "less_encoder": (0, 4096),
    "less_decoder": (0, 4096),
    "less_cross": (0, 4096),
}
"""Least and greatest value of each number that is not the explorer's."""
CHOICES: dict[str, tuple[str, ...]] = {
    "method": tuple(METHODS),
    "part": tuple(PARTS),
    "section": tuple(SECTIONS),
    "box": STOPS,
    "topic": tuple(TOPICS),
    "side": tuple(SIDES),
    "lab": tuple(LABS),
    "beside": tuple(BESIDE),
    "means": ("zero", "uniform", "mean"),
    "gone": ("hidden", "cut"),
    "blank": ("cell", "all"),
    "corpus": tuple(CORPORA),
    "pruned": ("sentence", "position", "random"),
    "colour": tuple(COLOURS),
    "by": tuple(BY),
    "to": tuple(TO),
}
"""What each word may be that is not the explorer's."""
_WEIGHT = r"\d{1,4}x(100|[1-9]\d?)"
_NUMBERS = r"(\d{1,4}(,\d{1,4})*)?"
FORMS: dict[str, tuple[str, str]] = {
    "off": (
        r"([edc]\d{1,3}(\.\d{1,3})?(,[edc]\d{1,3}(\.\d{1,3})?)*)?",
        'e, d or c and layer.head or a layer, with commas, like "e3.2,c5"',
    ),
    "paint": (
        rf"([edc]\d{{1,3}}\.\d{{1,3}}\.\d{{1,4}}:{_WEIGHT}(,{_WEIGHT})*)?",
        'a head, a row, then keys and weights from 1 to 100, like "c5.1.3:0x70,4x30"',
    ),
    "away": (_NUMBERS, 'positions with commas, like "0,3"'),
    "links": (
        r"(\d{1,3}[-p]\d{1,3}(,\d{1,3}[-p]\d{1,3})*)?",
        'a source word and a target word with a hyphen, with commas, like "0-0,1-2"',
    ),
    "patch": (
        rf"([a-z_.\d]{{1,60}}:{_NUMBERS}:{_NUMBERS})?",
        'a site and positions here and there, like "encoder.hook_memory:1:1"',
    ),
}
"""How each word is written that is made of parts and is not the explorer's: form, and in words."""


@dataclass(frozen=True)
class View:
    """A sentence, how it is translated, what it is compared with, and the explorer's state.

    Attributes:
        model: name of a checkpoint; "" is the first there is.
        target: the translation that method "forced" gives the model.
        top_k: 0 draws from all pieces.
        other, other_model: the sentence and the checkpoint to compare with; "" is the same.
        view … size: as in `figures.state`; layer and head are counted from 0, as in
            `trace.weights(kind, layer)`.
        part: of the page "Why self-attention"; n, d, k, r: the sizes of the paper's Table 1;
            dk: the width of a query, where scores are measured.
        run, race: names of the training run and of the race that are looked at; "" is none.
        section: of the page "Inside"; box: of Figure 1, in the layer `layer`; panel: the name of
            one of its tables, of which `row` and `column` choose a number. warmup, d: of the
            learning rate that is drawn; dropout, smoothing: how much of each, `seed` of the mask.
        topic: of the page "Positions", for one `side` of the pair; waves: the dimensions that are
            drawn as waves, with commas; shift: the k of M_k; learned: the checkpoint whose learned
            positions are looked at, "" is the first there is.
        lab: part of the heads lab; beside: the two pictures of a head that stand side by side.
            `step` is the output token that is asked about.
        off: heads that are switched off, by kind, layer and head; means: what that does to them.
        paint: a row of one head with the weights of its keys; away: source tokens taken away, and
            gone: whether they are hidden or cut out; patch: a site whose activations at some
            positions come from the sentence `other`. blank: one chosen cell, or all of the head.
        corpus: what heads are measured over, "" is what fits the model; sentences: at most.
        colour: the measure that a grid of all heads shows; by, to: how words are aligned, as in
            `analysis.aligners`; links: gold links of the visitor's own, with commas.
        less_encoder, less_decoder, less_cross: how many heads of each kind are pruned; pruned:
            which go first, the least important or by chance (`seed`).
        lesson: of the course, from 1; 0 is none.
    """

    model: str = ""
    text: str = EXAMPLE
    method: str = "greedy"
    target: str = ""
    beam_size: int = 4
    length_penalty: float = 0.6
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    other: str = ""
    other_model: str = ""
    view: str = "heads"
    kind: str = "cross"
    layer: int = -1
    head: int = -1
    heads: str = ""
    combine: str = "one"
    tokens: str = ""
    row: int = -1
    column: int = -1
    zoom: int = 0
    units: str = "pieces"
    special: str = "shown"
    renormalise: int = 0
    scale: str = "sqrt"
    measure: str = "none"
    order: str = "layers"
    step: int = 0
    node: int = -1
    force: str = ""
    size: str = "normal"
    run: str = ""
    race: str = ""
    part: str = "table"
    n: int = 64
    d: int = 512
    k: int = 3
    r: int = 15
    dk: int = 64
    warmup: int = 4000
    dropout: float = 0.1
    smoothing: float = 0.1
    section: str = "walk"
    box: str = STOPS[0]
    panel: str = ""
    lesson: int = 0
    lab: str = "switch"
    beside: str = "weight-norm"
    topic: str = "matrix"
    side: str = "source"
    waves: str = ""
    shift: int = 1
    learned: str = ""
    off: str = ""
    means: str = "zero"
    paint: str = ""
    away: str = ""
    gone: str = "hidden"
    patch: str = ""
    blank: str = "cell"
    corpus: str = ""
    sentences: int = 300
    less_encoder: int = 0
    less_decoder: int = 0
    less_cross: int = 0
    pruned: str = "sentence"
    colour: str = "entropy"
    by: str = "weights"
    to: str = "output"
    links: str = ""

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> tuple[View, list[str]]:
        """The view of an address, and a sentence for each part of it that makes no sense."""
        values: dict[str, Any] = {}
        problems: list[str] = []
        types = {field.name: type(field.default) for field in fields(cls)}
        for name, written in params.items():
            if name not in types:
                problems.append(f'The address asks for "{name}", which this app does not know.')
                continue
            try:
                values[name] = _read(name, written, types[name])
            except ValueError as error:
                problems.append(f"The address has {name}={written!r}; it must be {error}.")
        return cls(**values), problems

    def to_params(self) -> dict[str, str]:
        """What differs from a first visit; `from_params` of it gives this view again."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        first = View()
        return {name: str(value) for name, value in values.items() if value != getattr(first, name)}

    def explorer(self) -> State:
        """The explorer's state."""
        return {name: getattr(self, name) for name in DEFAULTS}

    def decoding(self) -> dict[str, Any]:
        """The options of `Translator.trace` for this view."""
        if self.method == "forced":
            return {"target": self.target}
        if self.method == "beam":
            names: tuple[str, ...] = ("beam_size", "length_penalty")
        elif self.method == "sample":
            names = ("temperature", "top_k", "top_p", "seed")
        else:
            names = ()
        options = {name: getattr(self, name) for name in names}
        return {
            "method": self.method,
            **{k: v for k, v in options.items() if (k, v) != ("top_k", 0)},
        }


def _read(name: str, written: str, wanted: type) -> Any:
    """The value of one part of the address; ValueError says what it must be."""
    if name in DEFAULTS:
        return check(name, written)
    if name in CHOICES and written not in CHOICES[name]:
        raise ValueError(f"one of {', '.join(CHOICES[name])}")
    if name in FORMS and not re.fullmatch(FORMS[name][0], written, re.ASCII):
        raise ValueError(FORMS[name][1])
    if wanted is str:
        return written
    low, high = RANGES[name]
    sort = "a whole number" if wanted is int else "a number"
    try:
        number = wanted(written)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise ValueError(f"{sort} from {low:g} to {high:.10g}")
    return number
