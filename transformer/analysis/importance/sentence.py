"""The importance of every head for one sentence: what its translation loses without the head."""

from __future__ import annotations

import torch

from transformer.analysis.interventions.switching import all_heads, site
from transformer.cancellation import check_cancelled
from transformer.hooks import HookFn, Hooks
from transformer.inference import Translator
from transformer.inference.trace import Trace
from transformer.measures.kinds import AttentionKind, Head

BATCH = 16
"""Heads that are switched off in one pass, each in a copy of the sentence."""


@torch.inference_mode()
def sentence_importances(
    translator: Translator, trace: Trace, step: int | None = None
) -> dict[Head, float]:
    """Return how much less probable the trace's output becomes without each head, in nats.

    Switching off one head at a time is the oracle of Michel et al. 2019, section 3.2
    (https://arxiv.org/abs/1905.10650). A negative number means that the output is more probable
    without the head. Heads are in the order of `all_heads`.

    Args:
        trace: of this model without hooks; only its ids are used.
        step: of the output's tokens only the one that this decoding step writes, after the tokens
            before it; None for all tokens.

    Raises:
        ValueError: if there is no such step.
    """
    count = len(trace.predicted_ids)
    if step is not None and not 0 <= step < count:
        raise ValueError(f"There is no step {step}; the last one is {count - 1}.")
    steps = slice(None) if step is None else slice(step, step + 1)
    heads = all_heads(translator.model.config)
    before = _log_probability(translator, trace, steps, [], copies=1)[0]
    losses: dict[Head, float] = {}
    for start in range(0, len(heads), BATCH):
        check_cancelled()
        some = heads[start : start + BATCH]
        after = _log_probability(translator, trace, steps, some, copies=len(some))
        losses |= {head: before - value for head, value in zip(some, after, strict=True)}
    return losses


def _log_probability(
    translator: Translator, trace: Trace, steps: slice, heads: list[Head], copies: int
) -> list[float]:
    """Return the log-probability of the output's tokens at these steps in each copy, of which copy
    n lacks head n."""
    model = translator.model
    device = model.embedding.weight.device
    src, tgt, output = (
        torch.tensor([ids], device=device).expand(copies, -1)
        for ids in (trace.src_ids, trace.tgt_ids, trace.predicted_ids)
    )
    logits = model(src, tgt, hooks=_without(heads))
    chosen = logits.log_softmax(dim=-1).gather(-1, output[..., None])[..., 0]
    sums: list[float] = chosen[:, steps].double().sum(dim=-1).tolist()
    return sums


def _without(heads: list[Head]) -> Hooks:
    copies: dict[tuple[AttentionKind, int], list[tuple[int, int]]] = {}
    for copy, (kind, layer, head) in enumerate(heads):
        copies.setdefault((kind, layer), []).append((copy, head))
    return Hooks(
        {site(kind, layer, "heads"): _zeroed(cells) for (kind, layer), cells in copies.items()}
    )


def _zeroed(cells: list[tuple[int, int]]) -> HookFn:
    def zero(outputs: torch.Tensor, _: str) -> torch.Tensor:
        changed = outputs.clone()
        for copy, head in cells:
            changed[copy, head] = 0
        return changed

    return zero
