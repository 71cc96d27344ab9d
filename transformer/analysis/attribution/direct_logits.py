"""Direct logit attribution: the direct contribution of every head to the logit of one token.

    result = direct_logits(model, trace, 3)              # of the token predicted at position 3
    result = direct_logits(model, trace, 3, against=id)  # its logit minus that of another token
    result.table                # a row for each part of the decoder: part, layer, head, adds
    result.heads("cross")       # (layers, heads)
    result.removed("cross")     # the actual change when that head is ablated at this position

The logits are the decoder's last state times the embeddings, and that state is a sum of parts
(`residual_parts`, with the standard deviation of every LayerNorm held fixed), so the share of every
sublayer can be computed (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits";
later called direct logit attribution):

- All parts together sum exactly to the logit; a single part is what it would add if it did not
  change any standard deviation.
- Only the direct path counts. What a head contributes through the heads and networks above it is
  attributed to those.

A number added to all logits changes no probability. So without a second token the value is the
token's logit minus the mean of all logits.
"""

from __future__ import annotations

import dataclasses
import operator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution.norms import check_same_model, to_array
from transformer.analysis.attribution.residual_parts import check_sum, residual_parts
from transformer.hooks import Hooks
from transformer.inference.trace import Trace
from transformer.measures.kinds import AttentionKind, Head
from transformer.model import Transformer

Numbers = npt.NDArray[np.float64]
KINDS: dict[AttentionKind, str] = {"decoder": "self_attn", "cross": "cross_attn"}
MAX_POSITIONS = 2**13
"""Maximum number of positions of one ablation pass, over all heads in it."""


@dataclass(frozen=True, eq=False)
class DirectLogits:
    """The parts that sum to a logit.

    Attributes:
        value: the logit minus the mean of all logits, or minus that of the other token.
        table: a row for each "embedding", "position", head ("decoder", "cross"), "ffn" and "bias"
            (what all LayerNorms, W^O and the logits add), from the embedding up; layer and head
            are -1 for parts without one; the column "adds" sums to `value`; "removed" is the drop
            of the value when a head is ablated at this position, including indirect effects, and
            NaN for other parts.
    """

    value: float
    table: pd.DataFrame

    def heads(self, kind: AttentionKind) -> Float[np.ndarray, "layers heads"]:
        """Return the direct contribution of every head of a kind, "decoder" or "cross"."""
        return self._matrix(kind, "adds")

    def removed(self, kind: AttentionKind) -> Float[np.ndarray, "layers heads"]:
        """Return the drop of the value when each head of a kind is ablated."""
        return self._matrix(kind, "removed")

    def _matrix(self, kind: AttentionKind, column: str) -> Float[np.ndarray, "layers heads"]:
        rows = self.table[self.table["part"] == kind]
        return np.asarray(rows[column].to_numpy(np.float64).reshape(rows["layer"].nunique(), -1))

    @property
    def agreement(self) -> float:
        """Correlation of direct and ablation effects over all heads, −1 to 1; NaN if one is
        constant."""
        direct, effect = (
            np.stack([method(kind) for kind in KINDS]).ravel()
            for method in (self.heads, self.removed)
        )
        if min(direct.std(), effect.std()) == 0:
            return float("nan")
        return float(np.corrcoef(direct, effect)[0, 1])


def direct_logits(
    model: Transformer, trace: Trace, position: int, against: int | str | None = None
) -> DirectLogits:
    """Decompose the logit of `trace.predicted_tokens[position]`.

    Args:
        trace: of this model without hooks, with all sites recorded.
        against: another token to compare with: its id, or a piece among the candidates of that
            step (Yin and Neubig 2022, https://arxiv.org/abs/2202.10419, section 3).

    Raises:
        ValueError: for a trace of another model or made with hooks, or a position or token that
            does not exist.
        KeyError: for a trace without a site that is needed.
    """
    check_same_model(model, trace)
    chosen = trace.predicted_ids[_checked_position(trace, position)]
    rival_id = None if against is None else _rival_id(trace, position, against)
    direction, constant = _direction(model, chosen, rival_id)
    parts = residual_parts(model, trace, "decoder")
    table = pd.DataFrame(map(dataclasses.astuple, parts.parts), columns=["part", "layer", "head"])
    table["adds"] = parts.vectors[:, position] @ direction
    table.loc[table["part"] == "bias", "adds"] += constant
    value = float(table["adds"].sum())
    if "hook_logits" in trace.names:
        logits = trace["hook_logits"][position].astype(np.float64)
        reference = logits.mean() if rival_id is None else logits[rival_id]
        check_sum(value, float(logits[chosen] - reference))
    without = _values_without_heads(model, trace, position, rival_id)
    table["removed"] = np.nan
    for kind, values in without.items():
        table.loc[table["part"] == kind, "removed"] = value - values.ravel()
    return DirectLogits(value, table)


def _checked_position(trace: Trace, position: int) -> int:
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


def _rival_id(trace: Trace, position: int, against: int | str) -> int:
    """Return the id of the token to compare with `trace.predicted_tokens[position]`."""
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
    if against == trace.predicted_ids[position]:
        raise ValueError(
            f"token {against} is the predicted token; pass another one to compare it with"
        )
    return against


def _direction(model: Transformer, chosen: int, against: int | None) -> tuple[Numbers, float]:
    """Return the vector that the last state is multiplied by, and the constant that is added.

    They are the embedding and output bias of the token, minus those of the other token or the mean
    of all tokens.
    """
    table = to_array(model.embedding.weight).astype(np.float64)
    bias = model.output_bias
    biases = np.zeros(len(table)) if bias is None else to_array(bias).astype(np.float64)
    reference, reference_bias = (
        (table.mean(axis=0), biases.mean())
        if against is None
        else (table[against], biases[against])
    )
    return table[chosen] - reference, float(biases[chosen] - reference_bias)


@torch.inference_mode()
def _values_without_heads(
    model: Transformer, trace: Trace, position: int, against: int | None
) -> dict[str, Float[np.ndarray, "layers heads"]]:
    """Return the value without each head at this position; many ablations run in one batch."""
    config, device = model.config, model.embedding.weight.device
    heads = [(kind, n, h) for kind in KINDS for n in range(config.n_layers)
             for h in range(config.n_heads)]  # fmt: skip
    memory = torch.tensor(trace["encoder.hook_memory"].copy(), device=device)[None]
    tgt = torch.tensor([trace.tgt_ids[: position + 1]], device=device)
    differences: list[float] = []
    step = max(1, MAX_POSITIONS // max(memory.shape[1], tgt.shape[1]))
    for start in range(0, len(heads), step):
        chunk = heads[start : start + step]
        states = model.decode(
            tgt.expand(len(chunk), -1),
            memory.expand(len(chunk), -1, -1),
            hooks=_ablation_hooks(chunk, position),
        )
        logits = model.project(states[:, -1:])[:, 0].cpu().double()
        reference = logits.mean(dim=-1) if against is None else logits[:, against]
        differences += (logits[:, trace.predicted_ids[position]] - reference).tolist()
    values = np.array(differences).reshape(len(KINDS), config.n_layers, config.n_heads)
    return dict(zip(KINDS, values, strict=True))


def _ablation_hooks(heads: list[Head], position: int) -> Hooks:
    """Set the output of head n to 0 at the position in copy n."""
    sites: dict[str, list[tuple[int, int]]] = {}
    for copy, (kind, layer, head) in enumerate(heads):
        name = f"decoder.layers.{layer}.{KINDS[kind]}.hook_heads"
        sites.setdefault(name, []).append((copy, head))

    def ablate(x: Tensor, name: str) -> Tensor:
        changed = x.clone()
        copies, head_numbers = zip(*sites[name], strict=True)
        changed[list(copies), list(head_numbers), position] = 0
        return changed

    return Hooks(dict.fromkeys(sites, ablate))
