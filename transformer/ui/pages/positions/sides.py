"""What all topics share: a choice of side, and what one pass recorded."""

from __future__ import annotations

from transformer.analysis.positions import STACKS
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.positions import Positions
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls


def side() -> str:
    controls.button_row("side", labelled=False)
    return state.view(Positions).side


def recorded(model: Model) -> Trace:
    """Embeddings, positions and first scores of the visitor's sentence, both sides.

    Raises:
        ValueError: if it is empty or too long.
    """
    names = [
        f"{stack}.{site}"
        for stack in STACKS.values()
        for site in (
            "embed.hook_tokens",
            "embed.hook_positions",
            "layers.0.self_attn.hook_scores",
            "layers.0.self_attn.hook_weights",
        )
    ]
    return trace_cache.sites(model, trace_cache.read(model, state.view(Positions)), names)


def tokens(trace: Trace, which: str) -> tuple[str, ...]:
    """The pieces of one side as its layers read them."""
    return trace.src_tokens if which == "source" else trace.tgt_tokens
