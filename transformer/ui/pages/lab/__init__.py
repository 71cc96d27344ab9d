"""The Heads lab page: what heads do, what weights move, and what happens without them."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.measures import MEASURES
from transformer.ui.address import View, field

LABS = {
    "matter": "Pruning",
    "switch": "Switch off heads",
    "sweep": "Activation patching",
    "moves": "Attribution",
    "cards": "Head roles",
    "map": "Query–key map",
    "align": "Word alignment",
    "dataset": "Export a dataset",
}
BESIDE = {
    "weight-norm": "Weight | norm",
    "weight-gradient": "Weight | gradient",
    "weight-product": "Weight | gradient × weight",
    "norm-gradient": "Norm | gradient",
    "norm-product": "Norm | gradient × weight",
    "gradient-product": "Gradient | gradient × weight",
}
MEANS = {
    "zero": "Zero ablation",
    "uniform": "Uniform attention",
    "mean": "Mean ablation",
}
GONE = {"hidden": "Masked: no head can attend to them", "cut": "Removed: later tokens move up"}
BLANK = {"cell": "Selected cell", "all": "All cells of the head"}
ORDERS = {
    "sentence": "Least important first, by sentences",
    "position": "Least important first, by positions",
    "random": "Random",
}
SWEPT = {
    "stream": "Residual stream",
    "attention": "Attention outputs",
    "ffn": "Feed-forward outputs",
    "heads": "Heads",
}
DOTS = {"side": "Query or key", "position": "Position", "kind": "Kind of token"}
BY = {"weights": "by weights", "norms": "by norms"}
TO = {"output": "at the predicting position", "input": "at the reading position"}
COLOURS = {one.name: one.label for one in MEASURES.values()}
_HEAD, _WEIGHT = r"[edc]\d{1,3}(\.\d{1,3})?", r"\d{1,4}x(100|[1-9]\d?)"
_NUMBERS = r"(\d{1,4}(,\d{1,4})*)?"
_PAINT = rf"([edc]\d{{1,3}}\.\d{{1,3}}\.\d{{1,4}}:{_WEIGHT}(,{_WEIGHT})*)?"
_LINK = r"\d{1,3}[-p]\d{1,3}"
OFF = (
    rf"({_HEAD}(,{_HEAD})*)?",
    'e, d or c and layer.head or a layer, with commas, like "e3.2,c5"',
)
PAINT = (_PAINT, 'a head, a row, then keys and weights from 1 to 100, like "c5.1.3:0x70,4x30"')
AWAY = (_NUMBERS, 'positions with commas, like "0,3"')
PATCH = (
    rf"([a-z_.\d]{{1,60}}:{_NUMBERS}:{_NUMBERS})?",
    'a site and positions here and there, like "encoder.hook_memory:1:1"',
)
POINT = (
    r"([qk]\d{1,4}\.\d{1,4})?",
    'q for a query or k for a key, a sentence and a position, like "q12.3"',
)
LINKS = (
    rf"({_LINK}(,{_LINK})*)?",
    'a source word and a target word with a hyphen, with commas, like "0-0,1-2"',
)


@dataclass(frozen=True)
class Lab(View):
    """A part of the lab, and what is changed in it.

    Attributes:
        lab: the part; "" is the first, or the switches where the address says what they change.
        beside: the two pictures of a head that stand side by side.
        against: the id of a token that might have stood in the place of the one asked about, one
            of its step's candidates; -1 is none.
        off: heads that are switched off, by kind, layer and head; means: what that does to them.
        paint: a row of one head with the weights of its keys.
        away: source tokens taken away; gone: whether they are hidden or cut out.
        patch: a site whose activations at some positions come from the sentence `other`.
        swept: which activations are put in, of all that were.
        blank: one chosen cell, or all of the head.
        less_encoder, less_decoder, less_cross: how many heads of each kind are pruned; pruned:
            which go first, the least important or by chance (`seed`).
        colour: the measure that a grid of all heads shows.
        dots: what the colours of queries and keys stand for; point: the one that is looked at.
        traced: heads whose weights go into a dataset.
        by, to: how words are aligned, as in `alignment.leaderboard`; links: gold links of the
            visitor's own.
    """

    lab: str = field("", "Experiment", choices={"": "Default", **LABS})
    beside: str = field("weight-norm", "Side by side", choices=BESIDE)
    against: int = field(-1, "Compare with token", bounds=(-1, 2**31 - 1))
    off: str = field(form=OFF)
    means: str = field("zero", "Ablation", choices=MEANS)
    paint: str = field(form=PAINT)
    away: str = field(form=AWAY)
    gone: str = field("hidden", "Method", choices=GONE)
    patch: str = field(form=PATCH)
    swept: str = field("stream", "Patch activations", choices=SWEPT)
    blank: str = field("cell", "Blank", choices=BLANK)
    less_encoder: int = field(0, bounds=(0, 4096))
    less_decoder: int = field(0, bounds=(0, 4096))
    less_cross: int = field(0, bounds=(0, 4096))
    pruned: str = field("sentence", "Pruning order", choices=ORDERS)
    colour: str = field("entropy", "Coloured by", choices=COLOURS)
    dots: str = field("side", "Coloured by", choices=DOTS)
    point: str = field(form=POINT)
    traced: str = field(form=OFF)
    by: str = field("weights", "Scores", choices=BY)
    to: str = field("output", "Row", choices=TO)
    links: str = field(form=LINKS)

    @property
    def part(self) -> str:
        """The part that is looked at, one of `LABS`."""
        changed = self.off or self.paint or self.away or self.patch
        return self.lab or ("switch" if changed else next(iter(LABS)))
