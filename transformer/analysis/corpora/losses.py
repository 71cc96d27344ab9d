"""The loss of every sentence of a corpus, with and without an intervention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transformer.analysis.corpora.passes import NumberedBatch, Pair, batches
from transformer.hooks import Hooks
from transformer.inference import Translator
from transformer.model import Transformer
from transformer.model.masks import padding_mask


def batched(translator: Translator, pairs: Sequence[Pair]) -> list[NumberedBatch]:
    """All pairs side by side, on the model's device. Raises ValueError if there are none."""
    if not pairs:
        raise ValueError("there is no sentence; give at least one pair")
    return list(batches(translator, pairs))


def losses(
    model: Transformer,
    batch: NumberedBatch,
    hooks: Hooks | None = None,
    memory: Float[Tensor, "rows src d_model"] | None = None,
) -> Float[Tensor, "rows"]:
    """−log p(target | source) of each sentence, in nats, summed over its tokens.

    Args:
        memory: what the encoder made of the batch, if it is known already.
    """
    pad_id = model.config.pad_id
    mask = padding_mask(batch.src, pad_id)
    if memory is None:
        memory = model.encode(batch.src, mask, hooks)
    logits = model.project(model.decode(batch.tgt_in, memory, mask, hooks=hooks), hooks)
    # In rows of one vocabulary each, which is six times faster; padding has loss 0.
    each = functional.cross_entropy(
        logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=pad_id, reduction="none"
    )
    return each.view(batch.tgt_out.shape).sum(dim=-1)


def lengths(corpus: Sequence[NumberedBatch]) -> Float[np.ndarray, "sentence"]:
    """Target tokens of each sentence, `</s>` counted, in the order of the corpus."""
    found = np.empty(sum(len(batch.numbers) for batch in corpus))
    for batch in corpus:
        found[batch.numbers] = batch.n_tgt.cpu().numpy()
    return found
