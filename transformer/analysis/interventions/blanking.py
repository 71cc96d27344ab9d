"""The weight of a cell, its norm, and the change of the output when the weight is set to 0
(blanked).

Blanking sets a weight to 0 after the softmax and leaves the other weights of its row unchanged.
That removes exactly the vector α·f(x) whose norm is compared with the weight (Kobayashi et al.
2020), so the three can be compared. With `renormalise` the rest of the row is divided by its sum,
as if the key were masked. Then the other keys get more weight, and the change mixes both effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution.norms import contributions
from transformer.analysis.corpora.passes import MAX_LOGITS, Progress, no_progress
from transformer.analysis.interventions.patches import check_query, rescaled
from transformer.analysis.interventions.switching import site
from transformer.hooks import HookFn, Hooks
from transformer.inference import Translator
from transformer.inference.trace import Trace
from transformer.measures.kinds import AttentionKind, Head
from transformer.model import Transformer

Cell = tuple[int, int]  # query, key


@dataclass(frozen=True, eq=False)
class CellEffects:
    """Cells of one head of one sentence.

    Attributes:
        head: (kind, layer, head).
        cells: (query, key) of each; in decoder self-attention only those that the mask allows.
        weights: α of each.
        norms: ‖α·f(x)‖ of each.
        effects: (cell, output token), the change of the token's log-probability in nats when the
            cell is blanked, given the output before it; negative is less probable. It is 0 for
            tokens before the query in decoder self-attention and cross-attention.
        tokens: of the output.
    """

    head: Head
    cells: tuple[Cell, ...]
    weights: Float[np.ndarray, "cell"]
    norms: Float[np.ndarray, "cell"]
    effects: Float[np.ndarray, "cell token"]
    tokens: tuple[str, ...]

    @property
    def total(self) -> Float[np.ndarray, "cell"]:
        """Change of the whole output's log-probability."""
        return np.asarray(self.effects.sum(axis=1))

    @property
    def own_effect(self) -> Float[np.ndarray, "cell"]:
        """Change of the token that the query predicts; NaN for the encoder, which predicts none."""
        if self.head[0] == "encoder":
            return np.full(len(self.cells), np.nan)
        rows = np.arange(len(self.cells))
        return np.asarray(self.effects[rows, [query for query, _ in self.cells]])

    @property
    def other_effects(self) -> Float[np.ndarray, "cell"]:
        """Sum of the changes of all other tokens; for the encoder, of all tokens."""
        return np.asarray(self.total - np.nan_to_num(self.own_effect))

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each cell: query, key, weight, norm, own_effect, other_effects,
        total."""
        table = pd.DataFrame(self.cells, columns=["query", "key"])
        table["weight"], table["norm"] = self.weights, self.norms
        table["own_effect"], table["other_effects"], table["total"] = (
            self.own_effect,
            self.other_effects,
            self.total,
        )
        return table

    def correlations(self) -> dict[str, float]:
        """Return Spearman's rank correlations of weight, norm and absolute effect over the cells.

        The effect is |change of the output's log-probability|: weight and norm have no direction.
        NaN if one of them is constant.
        """
        table = self.to_frame()
        table["effect"] = table.total.abs()
        ranked = table[["weight", "norm", "effect"]].corr(method="spearman").to_numpy()
        return {
            "weight_norm": float(ranked[0, 1]),
            "weight_effect": float(ranked[0, 2]),
            "norm_effect": float(ranked[1, 2]),
        }


def blank_cells(
    translator: Translator,
    trace: Trace,
    head: Head,
    queries: Sequence[int] | None = None,
    *,
    renormalise: bool = False,
    progress: Progress = no_progress,
) -> CellEffects:
    """Blank every cell of these rows, one at a time, and score the trace's output each time.

    Many variants of the sentence run in one batch, so a row costs about one pass.

    Args:
        trace: of the sentence, by this translator; its values and weights recorded.
        queries: rows of the head; default: all.

    Raises:
        ValueError: for a head or query that does not exist, or a trace of another model.
    """
    kind, layer, number = head
    if queries is None:
        queries = range(len(trace.labels(kind)[0]))
    for query in queries:
        check_query(trace, head, query)
    norms = contributions(translator.model, trace, kind, layer)[number]
    n_keys = norms.shape[1]
    cells = [(i, j) for i in queries for j in range(i + 1 if kind == "decoder" else n_keys)]
    if not cells:
        raise ValueError("there is no row to blank; pass at least one query")
    parts = []
    batch_size = max(1, MAX_LOGITS // (len(trace.tgt_ids) * translator.model.config.vocab_size) - 1)
    for start in range(0, len(cells), batch_size):
        progress(start / len(cells), "blanking")
        chunk = cells[start : start + batch_size]
        hooks = Hooks({site(kind, layer, "weights"): _blank_each(number, chunk, renormalise)})
        log_probs = _log_probabilities(translator.model, trace, hooks, len(chunk) + 1, kind)
        parts.append(
            (log_probs[:-1] - log_probs[-1]).cpu().numpy()
        )  # the last copy has no blanked cell
    progress(1.0, "blanked")
    i, j = np.array(cells).T
    weights = trace.weights(kind, layer)[number][i, j]
    effects = np.concatenate(parts)
    return CellEffects(head, tuple(cells), weights, norms[i, j], effects, trace.predicted_tokens)


def _blank_each(head: int, cells: list[Cell], renormalise: bool) -> HookFn:
    """Return a hook that blanks cell n in sentence n of the batch."""

    def blank(weights: Tensor, _: str) -> Tensor:
        sentences = torch.arange(len(cells), device=weights.device)
        query, key = torch.tensor(cells, device=weights.device).T
        changed = weights.clone()
        changed[sentences, head, query, key] = 0
        if renormalise:
            changed[sentences, head, query] = rescaled(changed[sentences, head, query])
        return changed

    return blank


@torch.inference_mode()
def _log_probabilities(
    model: Transformer, trace: Trace, hooks: Hooks, copies: int, kind: AttentionKind
) -> Float[Tensor, "copies token"]:
    """Return log-probabilities of the trace's output tokens, in a batch of copies of the
    sentence."""
    device = model.embedding.weight.device
    src, tgt, target_ids = (
        torch.tensor([ids], device=device)
        for ids in (trace.src_ids, trace.tgt_ids, trace.predicted_ids)
    )
    if kind == "encoder":
        memory = model.encode(src.expand(copies, -1), hooks=hooks)
    else:  # the encoder does not change, so it runs once
        memory = model.encode(src).expand(copies, -1, -1)
    states = model.decode(tgt.expand(copies, -1), memory, hooks=hooks)
    logits = model.project(states)
    chosen = logits.gather(-1, target_ids.expand(copies, -1)[..., None])[..., 0]
    return chosen - logits.logsumexp(dim=-1)
