"""Gradients of a translation's log-probability: by every weight, and by every token's embedding.

∂ log p / ∂α says how the output would begin to change if one weight did, everything above it
following, the softmax below it not (a row then no longer sums to 1); times the weight it guesses,
to first order, what the weight is worth. Gradient × embedding does the same for a token (Denil et
al. 2014, "Extraction of Salient Sentences from Labelled Documents"; Simonyan et al. 2014 have the
gradient alone). For attention weights: Serrano and Smith 2019 (https://arxiv.org/abs/1906.03731).

Why this token, not another? Then the difference of two tokens' logits is explained, that of their
log-probabilities, and not what both have in common: `rival` reads which other one is meant (Yin and
Neubig 2022, https://arxiv.org/abs/2202.10419, section 3).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution.norms import same_model
from transformer.hooks import Hooks
from transformer.inference.trace import WEIGHTS, Trace
from transformer.model import Transformer

EMBEDDINGS = ("encoder.embed.hook_tokens", "decoder.embed.hook_tokens")
Stacks = Float[np.ndarray, "layers heads query key"]


@dataclass(frozen=True)
class Gradients:
    """What a log-probability hangs on, all numbers in nats.

    Attributes:
        log_probability: of one output token, or of all together; with a rival, the token's less
            the rival's, which is the difference of their logits.
        weights: for "encoder", "decoder" and "cross" the gradient by the weights of every layer,
            (layers, heads, query, key); 0 where the mask leaves no weight.
        times_weight: the same times the weights.
        source: gradient × embedding of each source token, (src,).
        target: the same of each token that the decoder read, (tgt,), `<s>` first.
    """

    log_probability: float
    weights: Mapping[str, Stacks]
    times_weight: Mapping[str, Stacks]
    source: Float[np.ndarray, " src"]
    target: Float[np.ndarray, " tgt"]


def gradients(
    model: Transformer,
    trace: Trace,
    position: int | None = None,
    hooks: Hooks | None = None,
    against: int | str | None = None,
) -> Gradients:
    """Gradients of log p of `trace.predicted_tokens[position]`, or of the whole translation.

    One pass forward and one back over the tokens of the trace, of which nothing else is read. No
    gradient is left on the model.

    Args:
        position: 0 is the first token written; None sums the logarithms of all.
        hooks: what the trace was made with, if that was not the model as it is.
        against: a rival of the token at `position`, an id or a candidate's piece (`rival`): then
            of log p less the rival's.

    Raises:
        ValueError: for a trace of another model, a position or rival that is not there, or a rival
            without a position.
    """
    same_model(model, trace)
    if position is not None:
        output_position(trace, position)
    elif against is not None:
        raise ValueError("a rival stands against one token; give its position too")
    with torch.enable_grad():
        logits, seen = _watched(model, trace, Hooks({}) if hooks is None else hooks)
        chosen = torch.tensor(trace.predicted_ids, device=logits.device)[:, None]
        each = logits.log_softmax(dim=-1).gather(1, chosen)[:, 0]
        value = each.sum() if position is None else each[position]
        if position is not None and against is not None:
            value = value - logits[position].log_softmax(dim=-1)[rival(trace, position, against)]
        # By name, not by backward(): the model is shared, and its parameters stay without .grad.
        found = torch.autograd.grad(value, list(seen.values()), materialize_grads=True)
    slopes = dict(zip(seen, found, strict=True))
    with torch.no_grad():
        products = {name: slopes[name] * seen[name] for name in seen}
        source, target = (products[name][0].sum(dim=-1).cpu().numpy() for name in EMBEDDINGS)
    weights, times_weight = (_by_kind(sites, trace.n_layers) for sites in (slopes, products))
    return Gradients(float(value.detach()), weights, times_weight, source, target)


def _by_kind(of_sites: Mapping[str, Tensor], n_layers: int) -> Mapping[str, Stacks]:
    """The sites of each kind of attention one upon the other; the decoder's without its future."""
    stacks = {
        kind: torch.cat([of_sites[name] for name in _sites(kind, n_layers)]) for kind in WEIGHTS
    }
    stacks["decoder"] = stacks["decoder"].tril()
    return {kind: stack.cpu().numpy() for kind, stack in stacks.items()}


def _watched(
    model: Transformer, trace: Trace, callers: Hooks
) -> tuple[Float[Tensor, "tgt vocab"], dict[str, Tensor]]:
    """The logits of the trace's tokens, and the embeddings and weights on the way to them."""
    seen: dict[str, Tensor] = {}

    def watch(tensor: Tensor, name: str) -> Tensor:
        replaced = callers[name](tensor, name) if name in callers else None
        tensor = tensor if replaced is None else replaced
        if name in EMBEDDINGS or not tensor.requires_grad:
            tensor = tensor.detach().requires_grad_()
        seen[name] = tensor
        return tensor

    names = [*EMBEDDINGS, *(name for kind in WEIGHTS for name in _sites(kind, trace.n_layers))]
    device = model.embedding.weight.device
    src, tgt = (torch.tensor([ids], device=device) for ids in (trace.src_ids, trace.tgt_ids))
    return model(src, tgt, hooks=Hooks({**callers, **dict.fromkeys(names, watch)}))[0], seen


def _sites(kind: str, n_layers: int) -> list[str]:
    return [WEIGHTS[kind].format(layer) for layer in range(n_layers)]


def output_position(trace: Trace, position: int) -> int:
    """`position`, if a token was written there. Raises ValueError if none was, and TypeError for
    what is no whole number."""
    position = operator.index(position)
    n_tgt = len(trace.tgt_tokens)
    if not 0 <= position < n_tgt:
        raise ValueError(f"there is no position {position}; the positions are 0 to {n_tgt - 1}")
    return position


def rival(trace: Trace, position: int, against: int | str) -> int:
    """The id of a token that might have stood in the place of `trace.predicted_tokens[position]`.

    Args:
        against: an id of the vocabulary, or a piece among the candidates of that step.

    Raises:
        ValueError: for an id that there is not, a piece that is no candidate, or the token itself.
    """
    chosen = trace.predicted_ids[output_position(trace, position)]
    if isinstance(against, str):
        candidates = trace.translation.steps[position].candidates
        known = {candidate.token: candidate.id for candidate in candidates}
        if against not in known:
            raise ValueError(
                f"{against!r} is none of the candidates {', '.join(map(repr, known))}; "
                "of any other token give the id"
            )
        against = known[against]
    against, last = operator.index(against), int(trace.config["vocab_size"]) - 1
    if not 0 <= against <= last:
        raise ValueError(f"there is no token {against}; the ids are 0 to {last}")
    if against == chosen:
        raise ValueError(
            f"token {against} is the one that was written; give another one to hold it against"
        )
    return against
