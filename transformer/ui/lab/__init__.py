"""The Heads lab page: what heads do, what weights move, and what happens without them."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.measures import MEASURES
from transformer.ui.address import View, field

LABS = {
    "matter": "The pruning game",
    "switch": "Switch heads off",
    "sweep": "Activation patching",
    "moves": "What a weight moves",
    "cards": "What each head does",
    "map": "Queries and keys",
    "align": "Word alignment",
    "dataset": "A dataset",
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
    "zero": "writes nothing",
    "uniform": "looks at all alike",
    "mean": "writes its mean",
}
GONE = {"hidden": "Hidden: nobody can look at them", "cut": "Cut out: the rest moves up"}
BLANK = {"cell": "The chosen cell", "all": "All cells of the head"}
ORDERS = {
    "sentence": "Least important, by sentences",
    "position": "Least important, by positions",
    "random": "By chance",
}
SWEPT = {
    "stream": "Residual stream",
    "attention": "Attention outputs",
    "ffn": "Feed-forward outputs",
    "heads": "Heads",
}
DOTS = {"side": "Query or key", "position": "Place", "kind": "Kind of piece"}
BY = {"weights": "by weights", "norms": "by norms"}
TO = {"output": "off the row that writes it", "input": "off the row that reads it"}
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

    lab: str = field("", "What to look at", choices={"": "What fits", **LABS})
    beside: str = field("weight-norm", "Side by side", choices=BESIDE)
    against: int = field(-1, "Why this and not …?", bounds=(-1, 2**31 - 1))
    off: str = field(form=OFF)
    means: str = field("zero", "A head that is off …", choices=MEANS)
    paint: str = field(form=PAINT)
    away: str = field(form=AWAY)
    gone: str = field("hidden", "How", choices=GONE)
    patch: str = field(form=PATCH)
    swept: str = field("stream", "What is put in", choices=SWEPT)
    blank: str = field("cell", "Blank", choices=BLANK)
    less_encoder: int = field(0, bounds=(0, 4096))
    less_decoder: int = field(0, bounds=(0, 4096))
    less_cross: int = field(0, bounds=(0, 4096))
    pruned: str = field("sentence", "Who goes first?", choices=ORDERS)
    colour: str = field("entropy", "Coloured by", choices=COLOURS)
    dots: str = field("side", "Coloured by", choices=DOTS)
    point: str = field(form=POINT)
    traced: str = field(form=OFF)
    by: str = field("weights", "Scores", choices=BY)
    to: str = field("output", "Of a word", choices=TO)
    links: str = field(form=LINKS)

    @property
    def part(self) -> str:
        """The part that is looked at, one of `LABS`."""
        changed = self.off or self.paint or self.away or self.patch
        return self.lab or ("switch" if changed else next(iter(LABS)))
