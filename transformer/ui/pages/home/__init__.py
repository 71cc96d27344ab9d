"""The page Try: one sentence and its translation, in four depths of detail."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.api.client_data import DEPTHS as DEPTHS
from transformer.api.requests import ABLATIONS as ABLATIONS
from transformer.measures.head_codes import HEADS_FORM
from transformer.ui.base.address import View, explorer_field, field
from transformer.ui.base.registry import HOME, Page

BLANK_SCOPES = {"cell": "Selected cell", "all": "All cells of the head"}
_WEIGHT_PATTERN = r"\d{1,4}x(100|[1-9]\d?)"
_NUMBERS_PATTERN = r"(\d{1,4}(,\d{1,4})*)?"
EDITED_ROW_FORM = (
    rf"([edc]\d{{1,3}}\.\d{{1,3}}\.\d{{1,4}}:{_WEIGHT_PATTERN}(,{_WEIGHT_PATTERN})*)?",
    'a head, a row, then keys and weights from 1 to 100, like "c5.1.3:0x70,4x30"',
)
POSITIONS_FORM = (_NUMBERS_PATTERN, 'positions with commas, like "0,3"')
PATCH_FORM = (
    rf"([a-z_.\d]{{1,60}}:{_NUMBERS_PATTERN}:{_NUMBERS_PATTERN})?",
    'a hook point, positions of this sentence and of the other, like "encoder.hook_memory:1:1"',
)


@dataclass(frozen=True)
class Home(View):
    """Address fields of the page; `figures.state` explains those of the explorer.

    Attributes:
        depth: one of `DEPTHS`.
        off: heads that are switched off, by kind, layer and head; ablation: how.
        edited_row: a row of one head with attention weights for its keys.
        masked_tokens: of the source.
        patch: a hook point whose activations at some positions come from the sentence `other`.
        blank: whether to set the selected cell or all cells of the head to 0.
    """

    depth: str = field("bands", "Depth", choices=DEPTHS)
    off: str = field(form=HEADS_FORM, of_model=True)
    ablation: str = field("zero", "Kind of ablation", choices=ABLATIONS)
    edited_row: str = field(form=EDITED_ROW_FORM)
    masked_tokens: str = field(form=POSITIONS_FORM)
    patch: str = field(form=PATCH_FORM)
    blank: str = field("cell", "Blank", choices=BLANK_SCOPES)
    view: str = explorer_field("view")
    heads: str = explorer_field("heads")
    combine: str = explorer_field("combine")
    tokens: str = explorer_field("tokens")
    pin: str = explorer_field("pin")
    way: str = explorer_field("way")
    zoom: int = explorer_field("zoom")
    special: str = explorer_field("special")
    renormalise: int = explorer_field("renormalise")
    word_row: str = explorer_field("word_row")
    scale: str = explorer_field("scale")
    measure: str = explorer_field("measure")
    more: int = explorer_field("more")
    order: str = explorer_field("order")
    node: int = explorer_field("node")
    force: str = explorer_field("force")


PAGE = Page(
    HOME,
    "Try",
    Home,
    heading="Type a sentence and see which words the model attends to as it translates",
    depths=DEPTHS,
)
