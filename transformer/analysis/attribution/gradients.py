"""Gradients of a translation's log-probability with respect to every weight and every embedding.

∂ log p / ∂α is the change of the output per change of one weight, with all later computations, but
without renormalising the weight's row. Multiplied by the weight, it is a first-order estimate of
the weight's contribution. Gradient × embedding is the same for a token (Denil et al. 2014,
"Extraction of Salient Sentences from Labelled Documents"; Simonyan et al. 2014 use the gradient
alone). For attention weights: Serrano and Smith 2019 (https://arxiv.org/abs/1906.03731).

To explain why the model chose this token rather than another, the function is the difference of the
two tokens' logits (which equals that of their log-probabilities); `rival` resolves the other token
(Yin and Neubig 2022, https://arxiv.org/abs/2202.10419, section 3).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution.norms import check_same_model
from transformer.hooks import Hooks
from transformer.inference.trace import WEIGHTS, Trace
from transformer.measures.kinds import AttentionKind
from transformer.model import Transformer

EMBEDDINGS = ("encoder.embed.hook_tokens", "decoder.embed.hook_tokens")
Stacks = Float[np.ndarray, "layers heads query key"]


@dataclass(frozen=True)
class Gradients:
    """Gradients of a log-probability, in nats.

    Attributes:
        log_probability: of one output token, or the sum over all; with a rival, the token's minus
            the rival's, which is the difference of their logits.
        weights: for "encoder", "decoder" and "cross" the gradient with respect to the weights of
            every layer, (layers, heads, query, key); 0 at masked keys.
        times_weight: the same times the weights.
        source: gradient × embedding of each source token, (src,).
        target: the same for each token of the decoder's input, (tgt,), `<s>` first.
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
    """Return gradients of log p of `trace.predicted_tokens[position]`, or of the whole translation.

    One forward and one backward pass over the tokens of the trace; its activations are not used.
    The model's parameters keep no gradient.

    Args:
        position: 0 is the first output token; None sums the log-probabilities of all.
        hooks: those the trace was made with, if any.
        against: a rival of the token at `position`, an id or a candidate's piece (see `rival`):
            then the gradients are of log p minus the rival's.

    Raises:
        ValueError: for a trace of another model, a position or rival that does not exist, or a
            rival without a position.
    """
    check_same_model(model, trace)
    if position is not None:
        output_position(trace, position)
    elif against is not None:
        raise ValueError("a rival is compared with one token; pass its position too")
    with torch.enable_grad():
        logits, recorded = _forward_recording(model, trace, Hooks({}) if hooks is None else hooks)
        chosen = torch.tensor(trace.predicted_ids, device=logits.device)[:, None]
        log_probs = logits.log_softmax(dim=-1).gather(1, chosen)[:, 0]
        value = log_probs.sum() if position is None else log_probs[position]
        if position is not None and against is not None:
            value = value - logits[position].log_softmax(dim=-1)[rival(trace, position, against)]
        # Not backward(): the model is shared, so its parameters must not get a .grad.
        grads = torch.autograd.grad(value, list(recorded.values()), materialize_grads=True)
    gradients_by_site = dict(zip(recorded, grads, strict=True))
    with torch.no_grad():
        products = {name: gradients_by_site[name] * recorded[name] for name in recorded}
        source, target = (products[name][0].sum(dim=-1).cpu().numpy() for name in EMBEDDINGS)
    weights, times_weight = (
        _by_kind(sites, trace.n_layers) for sites in (gradients_by_site, products)
    )
    return Gradients(float(value.detach()), weights, times_weight, source, target)


def _by_kind(by_site: Mapping[str, Tensor], n_layers: int) -> Mapping[str, Stacks]:
    """Stack the values at the hooks of each kind of attention; those of the decoder's masked keys
    are set to 0."""
    stacks = {
        kind: torch.cat([by_site[name] for name in _sites(kind, n_layers)]) for kind in WEIGHTS
    }
    stacks["decoder"] = stacks["decoder"].tril()
    return {kind: stack.cpu().numpy() for kind, stack in stacks.items()}


def _forward_recording(
    model: Transformer, trace: Trace, callers: Hooks
) -> tuple[Float[Tensor, "tgt vocab"], dict[str, Tensor]]:
    """Return the logits of the trace's tokens, and the embeddings and weights that lead to them."""
    recorded: dict[str, Tensor] = {}

    def record(tensor: Tensor, name: str) -> Tensor:
        replaced = callers[name](tensor, name) if name in callers else None
        tensor = tensor if replaced is None else replaced
        if name in EMBEDDINGS or not tensor.requires_grad:
            tensor = tensor.detach().requires_grad_()
        recorded[name] = tensor
        return tensor

    names = [*EMBEDDINGS, *(name for kind in WEIGHTS for name in _sites(kind, trace.n_layers))]
    device = model.embedding.weight.device
    src, tgt = (torch.tensor([ids], device=device) for ids in (trace.src_ids, trace.tgt_ids))
    return model(src, tgt, hooks=Hooks({**callers, **dict.fromkeys(names, record)}))[0], recorded


def _sites(kind: AttentionKind, n_layers: int) -> list[str]:
    return [WEIGHTS[kind].format(layer) for layer in range(n_layers)]


def output_position(trace: Trace, position: int) -> int:
    """Return `position` if it is a valid output position.

    Raises:
        ValueError: for a position out of range.
        TypeError: for anything but an integer.
    """
    position = operator.index(position)
    n_tgt = len(trace.tgt_tokens)
    if not 0 <= position < n_tgt:
        raise ValueError(f"there is no position {position}; the positions are 0 to {n_tgt - 1}")
    return position


def rival(trace: Trace, position: int, against: int | str) -> int:
    """Return the id of a rival, another token to compare with `trace.predicted_tokens[position]`.

    Args:
        against: an id of the vocabulary, or a piece among the candidates of that step.

    Raises:
        ValueError: for an unknown id, a piece that is not a candidate, or the token itself.
    """
    chosen = trace.predicted_ids[output_position(trace, position)]
    if isinstance(against, str):
        candidates = trace.translation.steps[position].candidates
        candidate_ids = {candidate.token: candidate.id for candidate in candidates}
        if against not in candidate_ids:
            raise ValueError(
                f"{against!r} is not one of the candidates {', '.join(map(repr, candidate_ids))}; "
                "pass the id of any other token"
            )
        against = candidate_ids[against]
    against, last_id = operator.index(against), int(trace.config["vocab_size"]) - 1
    if not 0 <= against <= last_id:
        raise ValueError(f"there is no token {against}; the ids are 0 to {last_id}")
    if against == chosen:
        raise ValueError(
            f"token {against} is the predicted token; pass another one to compare it with"
        )
    return against
