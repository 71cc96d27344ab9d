"""The page Try: one sentence and its translation, in four depths of detail.

The client (`client/app/try`) draws it and owns its address; Streamlit mounts it.
"""

from __future__ import annotations

from dataclasses import dataclass

from transformer.api.address_fields import DEPTHS, TRY
from transformer.ui.base.address import View, dataclass_field
from transformer.ui.base.registry import HOME, Page


@dataclass(frozen=True)
class Home(View):
    """Address fields of the page, which links of other pages set; `figures.state` explains those of
    the explorer.

    Attributes:
        depth: one of `DEPTHS`.
        off: heads that are switched off, by kind, layer and head; ablation: how.
        edited_row: a row of one head with attention weights for its keys.
        masked_tokens: of the source.
        patch: a hook point whose activations at some positions come from the sentence `other`.
    """

    depth: str = dataclass_field(TRY["depth"])
    off: str = dataclass_field(TRY["off"])
    ablation: str = dataclass_field(TRY["ablation"])
    edited_row: str = dataclass_field(TRY["edited_row"])
    masked_tokens: str = dataclass_field(TRY["masked_tokens"])
    patch: str = dataclass_field(TRY["patch"])
    view: str = dataclass_field(TRY["view"])
    heads: str = dataclass_field(TRY["heads"])
    combine: str = dataclass_field(TRY["combine"])
    tokens: str = dataclass_field(TRY["tokens"])
    pin: str = dataclass_field(TRY["pin"])
    way: str = dataclass_field(TRY["way"])
    zoom: int = dataclass_field(TRY["zoom"])
    special: str = dataclass_field(TRY["special"])
    renormalise: int = dataclass_field(TRY["renormalise"])
    word_row: str = dataclass_field(TRY["word_row"])
    scale: str = dataclass_field(TRY["scale"])
    measure: str = dataclass_field(TRY["measure"])
    more: int = dataclass_field(TRY["more"])
    order: str = dataclass_field(TRY["order"])
    node: int = dataclass_field(TRY["node"])
    force: str = dataclass_field(TRY["force"])


PAGE = Page(
    HOME,
    "Try",
    Home,
    heading="Type a sentence and see which words the model attends to as it translates",
    depths=DEPTHS,
)
