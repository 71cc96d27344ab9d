"""One teacher-forced pass over a corpus, in batches of similar length, and its losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from transformer.analysis.corpora.corpus import Corpus
from transformer.hooks import Hooks
from transformer.inference import Decoding, Translator
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import check_source
from transformer.model import Transformer
from transformer.model.attention import padding_mask
from transformer.text.batching import Batch, by_length, pad_batch

MAX_ROWS = 64
"""Maximum number of sentences in a batch."""

MAX_WEIGHTS = 2**22
"""Maximum number of weights of one layer in a batch, padding included: 16 MB."""

MAX_LOGITS = 2**21
"""Maximum number of logits of one pass over many variants of a sentence: 8 MB."""

Progress = Callable[[float, str], object]
"""Called with the share that is done, 0 to 1, and the current activity; an error in it ends the
pass."""


def no_progress(share: float, stage: str) -> None:
    """Ignore progress."""


def scaled_progress(progress: Progress, start: float, share: float) -> Progress:
    """Return a callback for a part of the work that begins at `start` and takes `share` of the
    total."""
    return lambda done, stage: progress(start + share * done, stage)


@dataclass(frozen=True)
class Pair:
    """The token ids of a sentence pair.

    Attributes:
        src: source ids, `</s>` last.
        out: target ids; `</s>` last, except in a translation by the model that was cut off.
        own: whether `out` is a greedy translation by the model.
    """

    src: list[int]
    out: list[int]
    own: bool = False


@dataclass(frozen=True)
class NumberedBatch(Batch):
    """A batch of a corpus: `numbers` identifies its pairs; `n_src` and `n_tgt` are their
    lengths."""

    numbers: list[int]
    n_src: Int[Tensor, "rows"]
    n_tgt: Int[Tensor, "rows"]


def encode_corpus(
    translator: Translator, corpus: Corpus, progress: Progress = no_progress
) -> list[Pair]:
    """Encode all sentences; a missing target is replaced by the model's greedy translation.

    Raises:
        ValueError: naming the sentence, counted from 1, for a text that is too long.
    """
    vocabulary, config = translator.vocabulary, translator.model.config
    decoder = SequenceDecoder(translator.model)
    sources = vocabulary.encode_batch([s.source for s in corpus.sentences], threads=1)
    targets = vocabulary.encode_batch([s.target for s in corpus.sentences], threads=1, target=True)
    for number, (src, out) in enumerate(zip(sources, targets, strict=True), start=1):
        try:
            check_source(len(src), config)
            if len(out) > 1:
                decoder.check_target(out, Decoding())
        except ValueError as error:
            raise ValueError(f"{corpus.name}, sentence {number}: {error}") from error
    missing = [n for n, sentence in enumerate(corpus.sentences) if not sentence.target]
    for done in range(0, len(missing), MAX_ROWS):
        progress(done / len(missing), "translating")
        part = missing[done : done + MAX_ROWS]
        outputs = decoder.run([sources[n] for n in part], Decoding(candidates=1))
        for number, output in zip(part, outputs, strict=True):
            targets[number] = output.decoded.ids
    translated = set(missing)
    return [
        Pair(src, out, number in translated)
        for number, (src, out) in enumerate(zip(sources, targets, strict=True))
    ]


def batches(translator: Translator, pairs: Sequence[Pair]) -> Iterator[NumberedBatch]:
    """Yield all pairs once on the model's device, in batches of similar length.

    Batches are limited by `MAX_ROWS` and `MAX_WEIGHTS`.
    """
    order = by_length([len(pair.src) for pair in pairs], [len(pair.out) for pair in pairs])
    group: list[int] = []
    longest = 0
    for number in order:
        length = max(len(pairs[number].src), len(pairs[number].out))
        longest = max(longest, length)
        too_much = (len(group) + 1) * translator.model.config.n_heads * longest**2 > MAX_WEIGHTS
        if group and (len(group) == MAX_ROWS or too_much):
            yield _batch(translator, group, pairs)
            group, longest = [], length
        group.append(number)
    if group:
        yield _batch(translator, group, pairs)


def _batch(translator: Translator, numbers: list[int], pairs: Sequence[Pair]) -> NumberedBatch:
    config, device = translator.model.config, translator.device
    sources, outputs = [pairs[n].src for n in numbers], [pairs[n].out for n in numbers]
    batch = pad_batch(sources, outputs, pad_id=config.pad_id, bos_id=config.bos_id, device=device)
    n_src, n_tgt = ([len(ids) for ids in side] for side in (sources, outputs))
    return NumberedBatch(
        **vars(batch),
        numbers=numbers,
        n_src=torch.tensor(n_src, device=device),
        n_tgt=torch.tensor(n_tgt, device=device),
    )


@torch.inference_mode()
def run_with_hooks(
    translator: Translator,
    pairs: Sequence[Pair],
    hooks: Callable[[NumberedBatch], Hooks],
    progress: Progress = no_progress,
) -> None:
    """Run all pairs through the model once; `hooks` returns the hooks for each batch.

    Rows of padding pass through the hooks as well; columns of padding have weight 0.
    """
    model, pad_id, done = translator.model, translator.model.config.pad_id, 0
    for batch in batches(translator, pairs):
        progress(done / len(pairs), "measuring")
        batch_hooks, mask = hooks(batch), padding_mask(batch.src, pad_id)
        memory = model.encode(batch.src, mask, batch_hooks)
        model.decode(batch.tgt_in, memory, mask, hooks=batch_hooks)
        done += len(batch.numbers)
    progress(1.0, "measured")


def batch_list(translator: Translator, pairs: Sequence[Pair]) -> list[NumberedBatch]:
    """Return all batches on the model's device. Raises ValueError if there are no pairs."""
    if not pairs:
        raise ValueError("there are no sentences; pass at least one pair")
    return list(batches(translator, pairs))


def losses(
    model: Transformer,
    batch: NumberedBatch,
    hooks: Hooks | None = None,
    memory: Float[Tensor, "rows src d_model"] | None = None,
) -> Float[Tensor, "rows"]:
    """Return −log p(target | source) of each sentence, nats, summed over its tokens.

    Args:
        memory: the encoder's output for the batch, if already computed.
    """
    pad_id = model.config.pad_id
    mask = padding_mask(batch.src, pad_id)
    if memory is None:
        memory = model.encode(batch.src, mask, hooks)
    logits = model.project(model.decode(batch.tgt_in, memory, mask, hooks=hooks), hooks)
    # Flattened to one row per token, because that is six times faster; padding has loss 0.
    token_losses = functional.cross_entropy(
        logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=pad_id, reduction="none"
    )
    return token_losses.view(batch.tgt_out.shape).sum(dim=-1)


def lengths(corpus_batches: Sequence[NumberedBatch]) -> Float[np.ndarray, "sentence"]:
    """Return the target tokens of each sentence, including `</s>`, in the order of the corpus."""
    counts = np.empty(sum(len(batch.numbers) for batch in corpus_batches))
    for batch in corpus_batches:
        counts[batch.numbers] = batch.n_tgt.cpu().numpy()
    return counts
