"""The Heads lab page: experiments on what heads do and what changes without them."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.measures import MEASURES
from transformer.ui.address import HEADS_FORM, View, field

EXPERIMENTS = {
    "pruning": "Pruning",
    "switch": "Switch off heads",
    "sweep": "Activation patching",
    "attribution": "Attribution",
    "roles": "Head roles",
    "align": "Word alignment",
}
CELL_PAIRS = {
    "weight-norm": "Weight | norm",
    "weight-gradient": "Weight | gradient",
    "weight-product": "Weight | gradient × weight",
    "norm-gradient": "Norm | gradient",
    "norm-product": "Norm | gradient × weight",
    "gradient-product": "Gradient | gradient × weight",
}
ABLATIONS = {
    "zero": "Zero ablation",
    "uniform": "Uniform attention",
    "mean": "Mean ablation",
}
REMOVAL_METHODS = {
    "hidden": "Masked: no head can attend to them",
    "cut": "Removed: later tokens move up",
}
BLANK_SCOPES = {"cell": "Selected cell", "all": "All cells of the head"}
PRUNING_ORDERS = {
    "sentence": "Least important first (gates per sentence)",
    "position": "Least important first (gates per position)",
    "random": "Random",
}
PATCHED_ACTIVATIONS = {
    "stream": "Residual stream",
    "attention": "Attention outputs",
    "ffn": "Feed-forward outputs",
    "heads": "Heads",
}
SCORE_LABELS = {"weights": "by weights", "norms": "by norms"}
ROW_LABELS = {"output": "at the predicting position", "input": "at the reading position"}
GRID_MEASURES = {measure.name: measure.label for measure in MEASURES.values()}
_WEIGHT_PATTERN = r"\d{1,4}x(100|[1-9]\d?)"
_NUMBERS_PATTERN = r"(\d{1,4}(,\d{1,4})*)?"
_EDITED_ROW_PATTERN = (
    rf"([edc]\d{{1,3}}\.\d{{1,3}}\.\d{{1,4}}:{_WEIGHT_PATTERN}(,{_WEIGHT_PATTERN})*)?"
)
_LINK_PATTERN = r"\d{1,3}[-p]\d{1,3}"
EDITED_ROW_FORM = (
    _EDITED_ROW_PATTERN,
    'a head, a row, then keys and weights from 1 to 100, like "c5.1.3:0x70,4x30"',
)
POSITIONS_FORM = (_NUMBERS_PATTERN, 'positions with commas, like "0,3"')
PATCH_FORM = (
    rf"([a-z_.\d]{{1,60}}:{_NUMBERS_PATTERN}:{_NUMBERS_PATTERN})?",
    'a hook point, positions of this sentence and of the other, like "encoder.hook_memory:1:1"',
)
LINKS_FORM = (
    rf"({_LINK_PATTERN}(,{_LINK_PATTERN})*)?",
    'a source word and a target word with a hyphen, with commas, like "0-0,1-2"',
)


@dataclass(frozen=True)
class Lab(View):
    """Address fields of the page.

    Attributes:
        lab: the experiment; "" is the first, or "switch" if the address changes heads or tokens.
        measure_pair: the two measures of one head's cells that are shown side by side.
        against: the id of a candidate of the selected step to contrast its token with; -1 is none.
        off: heads that are switched off, by kind, layer and head; ablation: how.
        edited_row: a row of one head with attention weights for its keys.
        removed_tokens: of the source; removal_method: whether they are masked or cut out.
        patch: a hook point whose activations at some positions come from the sentence `other`.
        patched_activations: the kind that activation patching replaces one at a time.
        blank: whether to set the selected cell or all cells of the head to 0.
        pruned_encoder, pruned_decoder, pruned_cross: number of pruned heads of each kind.
        pruning_order: by importance or random (`seed`).
        colour: the measure that a grid of all heads shows.
        score_kind, target_row: scores and row of the alignment, as in `align_words`.
        links: the visitor's own gold links.
    """

    lab: str = field("", "Experiment", choices={"": "Default", **EXPERIMENTS})
    measure_pair: str = field("weight-norm", "Side by side", choices=CELL_PAIRS)
    against: int = field(-1, "Compare with token", bounds=(-1, 2**31 - 1))
    off: str = field(form=HEADS_FORM)
    ablation: str = field("zero", "Kind of ablation", choices=ABLATIONS)
    edited_row: str = field(form=EDITED_ROW_FORM)
    removed_tokens: str = field(form=POSITIONS_FORM)
    removal_method: str = field("hidden", "Method", choices=REMOVAL_METHODS)
    patch: str = field(form=PATCH_FORM)
    patched_activations: str = field("stream", "Patch activations", choices=PATCHED_ACTIVATIONS)
    blank: str = field("cell", "Blank", choices=BLANK_SCOPES)
    pruned_encoder: int = field(0, bounds=(0, 4096))
    pruned_decoder: int = field(0, bounds=(0, 4096))
    pruned_cross: int = field(0, bounds=(0, 4096))
    pruning_order: str = field("sentence", "Pruning order", choices=PRUNING_ORDERS)
    colour: str = field("entropy", "Coloured by", choices=GRID_MEASURES)
    score_kind: str = field("weights", "Scores", choices=SCORE_LABELS)
    target_row: str = field("output", "Row", choices=ROW_LABELS)
    links: str = field(form=LINKS_FORM)

    @property
    def experiment(self) -> str:
        """Return the current experiment, one of `EXPERIMENTS`."""
        changed = self.off or self.edited_row or self.removed_tokens or self.patch
        return self.lab or ("switch" if changed else next(iter(EXPERIMENTS)))
