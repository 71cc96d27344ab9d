"""The logit lens: what the decoder would predict after each sublayer.

nostalgebraist 2020, "interpreting GPT: the logit lens", here for a decoder with two attentions. The
model is post-norm: every state but the embedding comes from a LayerNorm, like the last one, so the
tied output matrix is applied directly; also to the embedding, for comparison. A pre-norm model
would need its final norm first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.inference.trace import Trace
from transformer.inference.translator import Translator
from transformer.model import Transformer

ROWS = 128
"""Positions that are processed together: with 8,000 tokens, 8 MB of float64 per table."""


@dataclass(frozen=True, eq=False)
class Lens:
    """The predictions of each decoder state, (sites, tgt) unless noted.

    Attributes:
        sites: hooks of the states, from the embedding to the last layer.
        titles: the same in words: "embedding", "layer 0, self-attention", …
        rows: the decoder's input tokens: `<s>` y1 … yn.
        chosen: the token that the model predicted at each position.
        top_ids, top_probabilities: (sites, tgt, k), most probable first.
        top_tokens: the tokens of `top_ids`, nested in the same way.
        rank: of the chosen token, 1 is the most probable.
        probability: of the chosen token.
        entropy: of the whole distribution, bits; log2(vocab) if it is uniform.
        divergence: KL(last layer ‖ this site), bits: how much later layers change; 0 at the last.
    """

    sites: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[str, ...]
    chosen: tuple[str, ...]
    top_ids: npt.NDArray[np.int64]
    top_probabilities: npt.NDArray[np.float64]
    top_tokens: tuple[tuple[tuple[str, ...], ...], ...]
    rank: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]
    entropy: npt.NDArray[np.float64]
    divergence: npt.NDArray[np.float64]

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each site and position.

        Columns: site, title, position, reads, says, says_probability, chosen, rank, probability,
        entropy, divergence.
        """
        sites, rows = len(self.sites), len(self.rows)
        return pd.DataFrame(
            {
                "site": np.repeat(self.sites, rows),
                "title": np.repeat(self.titles, rows),
                "position": np.tile(np.arange(rows), sites),
                "reads": self.rows * sites,
                "says": [tokens[0] for site in self.top_tokens for tokens in site],
                "says_probability": self.top_probabilities[:, :, 0].ravel(),
                "chosen": self.chosen * sites,
                "rank": self.rank.ravel(),
                "probability": self.probability.ravel(),
                "entropy": self.entropy.ravel(),
                "divergence": self.divergence.ravel(),
            }
        )


def lens(trace: Trace, translator: Translator, k: int = 5) -> Lens:
    """Apply the output matrix to every state of the decoder.

    Only the logits of one site and `ROWS` positions are in memory at a time.

    Args:
        k: how many of the most probable tokens to return.

    Raises:
        ValueError: for a `k` below 1 or above the vocabulary's size.
    """
    model = translator.model
    size = model.config.vocab_size
    if not 1 <= k <= size:
        raise ValueError(f"k must be 1 to {size}, the size of the vocabulary, not {k}.")
    sites = _sites(model.config.n_layers)
    parts = [
        _slice(trace, model, list(sites), slice(start, start + ROWS), k)
        for start in range(0, len(trace.tgt_ids), ROWS)
    ]
    ids, shares, rank, probability, entropy, divergence = (
        torch.cat(tensors, dim=1).numpy() for tensors in zip(*parts, strict=True)
    )
    tokens = translator.vocabulary.tokens
    return Lens(
        sites=tuple(sites),
        titles=tuple(sites.values()),
        rows=trace.tgt_tokens,
        chosen=trace.predicted_tokens,
        top_ids=ids,
        top_probabilities=shares,
        top_tokens=tuple(tuple(tuple(tokens(row)) for row in site) for site in ids),
        rank=rank,
        probability=probability,
        entropy=entropy,
        divergence=divergence,
    )


def _sites(n_layers: int) -> dict[str, str]:
    """Return the hooks of complete decoder states, and the names of the sublayers before them."""
    blocks = {"self_attn": "self-attention", "cross_attn": "cross-attention", "ffn": "feed-forward"}
    return {"decoder.embed.hook_output": "embedding"} | {
        f"decoder.layers.{layer}.{block}_norm.hook_output": f"layer {layer}, {title}"
        for layer in range(n_layers)
        for block, title in blocks.items()
    }


@torch.no_grad()
def _slice(
    trace: Trace, model: Transformer, sites: list[str], rows: slice, k: int
) -> tuple[Tensor, ...]:
    """Return the fields of `Lens` for some positions, in its order, each (sites, rows, …)."""
    weight = model.embedding.weight

    def logits_at(site: str) -> Float[Tensor, "tgt vocab"]:
        """Return ln P of a state by the model's own output layer, in float64."""
        states = torch.tensor(trace[site][rows], device=weight.device, dtype=weight.dtype)
        return model.project(states[None])[0].cpu().double().log_softmax(-1)

    chosen = torch.tensor(trace.predicted_ids[rows])[:, None]
    final = logits_at(sites[-1])
    shares = final.exp()
    negative_entropy = torch.linalg.vecdot(shares, final)

    def summarize(log_p: Float[Tensor, "tgt vocab"]) -> tuple[Tensor, ...]:
        top, chosen_log_p = log_p.topk(k), log_p.gather(1, chosen)
        rank = (log_p > chosen_log_p).sum(-1) + 1
        entropy = -torch.linalg.vecdot(log_p.exp(), log_p) / math.log(2)
        divergence = (negative_entropy - torch.linalg.vecdot(shares, log_p)) / math.log(2)
        return top.indices, top.values.exp(), rank, chosen_log_p[:, 0].exp(), entropy, divergence

    summaries = [summarize(logits_at(site)) for site in sites]
    return tuple(torch.stack(part) for part in zip(*summaries, strict=True))
