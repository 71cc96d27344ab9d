"""DecoderLens: the translation when the decoder attends to an earlier layer of the encoder.

Langedijk et al. 2023, "DecoderLens: Layerwise Interpretation of Encoder–Decoder Transformers"
(arXiv 2310.03686). The decoder is unchanged; only the memory that it attends to changes. The model
is post-norm, so the output of every encoder layer comes from a LayerNorm, like that of the last
one, and needs no further normalisation.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, no_progress
from transformer.analysis.evidence.bootstrap import percentile_interval, resampled_counts
from transformer.analysis.importance.ablation import corpus_bleu, reference_texts
from transformer.inference import Translator
from transformer.inference.options import DecodingOptions
from transformer.inference.trace import Trace


@dataclass(frozen=True, eq=False)
class DecoderLens:
    """One sentence, decoded from the embeddings (0) and from each encoder layer (1 … n_layers).

    Attributes:
        translations: the text that is decoded from each layer's output, (layers + 1).
        reads, chosen: the tokens of the traced output, as the decoder's input and as predicted,
            (tgt).
        top_tokens: the most probable tokens, teacher-forced on that output, (layers + 1, tgt, k).
        top_probabilities: their probabilities, in the same order.
        probability: of the token that the full model predicted, (layers + 1, tgt).
    """

    translations: tuple[str, ...]
    reads: tuple[str, ...]
    chosen: tuple[str, ...]
    top_tokens: tuple[tuple[tuple[str, ...], ...], ...]
    top_probabilities: npt.NDArray[np.float64]
    probability: npt.NDArray[np.float64]

    @property
    def mean_log_probability(self) -> npt.NDArray[np.float64]:
        """Log-probability of the traced output, nats per token, for each layer, (layers + 1)."""
        smallest = np.finfo(np.float64).tiny
        return np.asarray(np.log(self.probability.clip(smallest)).mean(axis=1))

    def to_frame(self) -> pd.DataFrame:
        """One row per layer: layer, translation, log_probability (nats per token)."""
        return pd.DataFrame(
            {
                "layer": range(len(self.translations)),
                "translation": self.translations,
                "log_probability": self.mean_log_probability,
            }
        )


def with_encoder_layers(translator: Translator, count: int) -> Translator:
    """Return a new translator whose encoder ends after `count` layers.

    With 0 the decoder attends to the embeddings. The given translator is not changed.

    Raises:
        ValueError: for a number of layers that the encoder does not have.
    """
    layers = len(translator.model.encoder.layers)
    if not 0 <= count <= layers:
        raise ValueError(f"the encoder has {layers} layers; choose 0 to {layers}, not {count}")
    model = copy.deepcopy(translator.model)
    model.encoder.layers = model.encoder.layers[:count]
    return Translator(model, translator.vocabulary, "fp32")


def decoder_lens(
    translator: Translator, trace: Trace, k: int = 5, **options: Unpack[DecodingOptions]
) -> DecoderLens:
    """Decode the traced sentence from every encoder layer.

    Args:
        trace: of the sentence; the probability of its output is measured at each layer.
        k: number of most probable tokens to return.
        options: of the decoding, as in `Translator.translate`.

    Raises:
        ValueError: for a trace without its sentence, or invalid options.
    """
    source, output = trace.translation.source, list(trace.predicted_ids)
    translations, tokens, shares, probability = [], [], [], []
    for count in range(translator.model.config.n_layers + 1):
        shortened = with_encoder_layers(translator, count)
        translations.append(shortened.translate(source, **options).text)
        logits, _ = shortened.run_with_cache(source, output, names_filter="hook_logits")
        distribution = logits[0].cpu().double().softmax(-1)
        top = distribution.topk(k)
        rows = (translator.vocabulary.tokens(ids) for ids in top.indices.tolist())
        tokens.append(tuple(tuple(row) for row in rows))
        shares.append(top.values)
        probability.append(distribution.gather(1, torch.tensor(output)[:, None])[:, 0])
    return DecoderLens(
        translations=tuple(translations),
        reads=trace.tgt_tokens,
        chosen=trace.predicted_tokens,
        top_tokens=tuple(tokens),
        top_probabilities=torch.stack(shares).numpy(),
        probability=torch.stack(probability).numpy(),
    )


def bleu_by_encoder_layer(
    translator: Translator, corpus: Corpus, progress: Progress = no_progress
) -> pd.DataFrame:
    """BLEU of greedy translations decoded from the embeddings and from each encoder layer.

    References are the corpus's targets, or the full model's translation of a sentence without one.
    One row per layer: layer, bleu, and bleu_low and bleu_high, the bounds of the 95% interval over
    bootstrap samples of the sentences.

    Raises:
        ValueError: for a sentence that is too long.
    """
    references, samples = reference_texts(translator, corpus), resampled_counts(len(corpus))
    layers = translator.model.config.n_layers
    rows = []
    for count in range(layers + 1):
        progress(count / (layers + 1), "translating")
        counts = corpus_bleu(with_encoder_layers(translator, count), corpus, references)
        bleu = percentile_interval(counts.score, counts.resampled_scores(samples))
        rows.append((count, bleu.value, bleu.low, bleu.high))
    progress(1.0, "measured")
    return pd.DataFrame(rows, columns=["layer", "bleu", "bleu_low", "bleu_high"])
