"""Shared by all topics: the choice of source or target, and the trace of the sentence."""

from __future__ import annotations

from transformer.analysis.positions import STACKS
from transformer.inference import Trace
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls


def side() -> str:
    controls.button_row("side", labelled=False)
    return state.view(Inside).side


def read_trace(model: Model) -> Trace:
    """Return embeddings, positions and first-layer scores of the visitor's sentence.

    Raises:
        ValueError: if it is empty or too long.
    """
    names = [
        f"{stack}.{name}"
        for stack in STACKS.values()
        for name in (
            "embed.hook_tokens",
            "embed.hook_positions",
            "layers.0.self_attn.hook_scores",
            "layers.0.self_attn.hook_weights",
        )
    ]
    return trace_cache.hook_points(model, trace_cache.read(model, state.view(Inside)), names)


def tokens(trace: Trace, stack_side: str) -> tuple[str, ...]:
    """Return the tokens that the layers of one side read."""
    return trace.src_tokens if stack_side == "source" else trace.tgt_tokens
