"""The logit lens: what the decoder would predict after each sublayer.

nostalgebraist 2020, "interpreting GPT: the logit lens", here for a decoder with two attentions. The
model is post-norm: every state but the embedding comes from a LayerNorm, like the last one, so the
tied output matrix is applied directly; also to the embedding, for comparison. A pre-norm model
would need its final norm first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from transformer.inference.trace import Trace
from transformer.inference.translator import Translator

_BLOCKS = {
    "self_attn": "self-attention",
    "cross_attn": "cross-attention",
    "ffn": "feed-forward",
}


@dataclass(frozen=True, eq=False)
class Lens:
    """The predictions of each decoder state, (sites, tgt) unless noted.

    Attributes:
        sites: hooks of the states, from the embedding to the last layer.
        titles: the same in words: "embedding", "layer 0, self-attention", …
        rows: the decoder's input tokens: `<s>` y1 … yn.
        chosen: the token that the model predicted at each position.
        top_probabilities: (sites, tgt, k), most probable first.
        top_tokens: the tokens with these probabilities, nested in the same way.
        rank: of the chosen token, 1 is the most probable.
        probability: of the chosen token.
    """

    sites: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[str, ...]
    chosen: tuple[str, ...]
    top_probabilities: npt.NDArray[np.float64]
    top_tokens: tuple[tuple[tuple[str, ...], ...], ...]
    rank: npt.NDArray[np.int64]
    probability: npt.NDArray[np.float64]


@torch.no_grad()
def lens(trace: Trace, translator: Translator, k: int = 5) -> Lens:
    """Apply the output matrix to every state of the decoder, one after the other.

    Args:
        k: how many of the most probable tokens to return.

    Raises:
        ValueError: for a `k` below 1 or above the vocabulary's size.
    """
    model, size = translator.model, translator.model.config.vocab_size
    if not 1 <= k <= size:
        raise ValueError(f"k must be 1 to {size}, the size of the vocabulary, not {k}.")
    titles = {"decoder.embed.hook_output": "embedding"} | {
        f"decoder.layers.{layer}.{block}_norm.hook_output": f"layer {layer}, {title}"
        for layer in range(model.config.n_layers)
        for block, title in _BLOCKS.items()
    }
    chosen = torch.tensor(trace.predicted_ids, device="cpu")[:, None]
    top_tokens, columns = [], []
    for site in titles:
        states = torch.tensor(
            trace[site], device=translator.device, dtype=model.embedding.weight.dtype
        )
        p = model.project(states[None])[0].cpu().double().softmax(-1)
        top, probability = p.topk(k), p.gather(1, chosen)
        top_tokens.append(
            tuple(tuple(translator.vocabulary.tokens(ids)) for ids in top.indices.tolist())
        )
        columns.append((top.values, (p > probability).sum(-1) + 1, probability[:, 0]))
    top_probabilities, rank, probabilities = (
        torch.stack(column).numpy() for column in zip(*columns, strict=True)
    )
    return Lens(
        sites=tuple(titles),
        titles=tuple(titles.values()),
        rows=trace.tgt_tokens,
        chosen=trace.predicted_tokens,
        top_probabilities=top_probabilities,
        top_tokens=tuple(top_tokens),
        rank=rank,
        probability=probabilities,
    )
