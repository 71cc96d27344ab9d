"""The page Try: one sentence and its translation, in four depths of detail.

The client (`client/app/try`) draws it and owns its address; Streamlit mounts it.
"""

from __future__ import annotations

import dataclasses

from transformer.api.address_fields import DEPTHS, TRY
from transformer.ui.base.address import View, dataclass_field
from transformer.ui.base.registry import HOME, Page

Home: type[View] = dataclasses.make_dataclass(
    "Home",
    [(name, type(field.default), dataclass_field(field)) for name, field in TRY.items()],
    bases=(View,),
    frozen=True,
)
"""The view of the page: its fields are `TRY`, which links of other pages set."""

PAGE = Page(
    HOME,
    "Try",
    Home,
    heading="Type a sentence and see which words the model attends to as it translates",
    depths=DEPTHS,
)
