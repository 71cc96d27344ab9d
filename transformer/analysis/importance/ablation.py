"""Ablation: the change of a corpus's loss and BLEU without one head or several heads."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import (
    NumberedBatch,
    Progress,
    batch_list,
    encode_corpus,
    lengths,
    losses,
    no_progress,
    scaled_progress,
)
from transformer.analysis.evidence.bootstrap import (
    BleuCounts,
    Interval,
    mean_loss,
    percentile_interval,
    resampled_counts,
)
from transformer.analysis.interventions.switching import all_heads, check_heads, site, switched_off
from transformer.inference import Translator
from transformer.measures.kinds import Head
from transformer.model.attention import MultiHeadAttention, padding_mask

Group = tuple[Head, ...]


@dataclass(frozen=True, eq=False)
class Ablation:
    """A corpus measured with all heads and without each of some groups of heads.

    Attributes:
        loss: of the full model, nats per target token.
        bleu: of its greedy translations against the corpus's targets, 0 to 100; None if not
            measured.
        groups: heads that were switched off together, in the order of the following attributes.
        loss_changes, bleu_changes: the value without each group minus the full model's, with
            intervals. A useful head has a positive change of the loss and a negative one of BLEU.
    """

    loss: float
    bleu: float | None
    groups: tuple[Group, ...]
    loss_changes: tuple[Interval, ...]
    bleu_changes: tuple[Interval, ...] | None

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each group.

        Columns: off (number of heads switched off); kind, layer and head if each group is one head;
        loss, loss_change, loss_low, loss_high, loss_sure (whether 0 is outside the interval); and
        the same for bleu if it was measured.
        """
        table = pd.DataFrame({"off": [len(group) for group in self.groups]})
        if all(len(group) == 1 for group in self.groups):
            for n, name in enumerate(("kind", "layer", "head")):
                table[name] = [group[0][n] for group in self.groups]
        for name, baseline, changes in (
            ("loss", self.loss, self.loss_changes),
            ("bleu", self.bleu, self.bleu_changes),
        ):
            if baseline is None or changes is None:
                continue
            table[name] = [baseline + change.value for change in changes]
            table[f"{name}_change"] = [change.value for change in changes]
            table[f"{name}_low"] = [change.low for change in changes]
            table[f"{name}_high"] = [change.high for change in changes]
            table[f"{name}_sure"] = [change.excludes_zero for change in changes]
        return table


def leave_one_out(
    translator: Translator,
    corpus: Corpus,
    heads: Iterable[Head] | None = None,
    *,
    bleu: bool = False,
    progress: Progress = no_progress,
) -> Ablation:
    """Apply `measure_without` to each of these heads alone; default: all heads of the model."""
    config = translator.model.config
    heads = all_heads(config) if heads is None else check_heads(config, heads)
    groups = [(head,) for head in heads]
    return measure_without(translator, corpus, groups, bleu=bleu, progress=progress)


def measure_without(
    translator: Translator,
    corpus: Corpus,
    groups: Sequence[Sequence[Head]],
    *,
    bleu: bool = False,
    progress: Progress = no_progress,
) -> Ablation:
    """Switch off each group of heads in turn and measure the corpus.

    Args:
        bleu: also translate the corpus each time, which takes several times as long.

    Raises:
        ValueError: for a head that the model does not have, or a text that is too long.
    """
    checked_groups = tuple(tuple(check_heads(translator.model.config, group)) for group in groups)
    parts = batch_list(translator, encode_corpus(translator, corpus, progress))
    tokens, resampled = lengths(parts), resampled_counts(len(corpus))
    share = 0.2 if bleu else 1.0  # approximate share of the time
    baseline, ablated = losses_without(
        translator, parts, checked_groups, scaled_progress(progress, 0, share)
    )
    baseline_loss = mean_loss(baseline, tokens, resampled)
    changes = tuple(
        percentile_interval(
            (group_losses - baseline).sum() / tokens.sum(),
            mean_loss(group_losses, tokens, resampled) - baseline_loss,
        )
        for group_losses in ablated
    )
    score, score_changes = None, None
    if bleu:
        bleu_progress = scaled_progress(progress, share, 1 - share)
        score, score_changes = _bleu_without(
            translator, corpus, checked_groups, resampled, bleu_progress
        )
    progress(1.0, "measured")
    return Ablation(
        float(baseline.sum() / tokens.sum()), score, checked_groups, changes, score_changes
    )


@torch.inference_mode()
def losses_without(
    translator: Translator,
    parts: Sequence[NumberedBatch],
    groups: Sequence[Sequence[Head]],
    progress: Progress = no_progress,
) -> tuple[Float[np.ndarray, "sentence"], Float[np.ndarray, "group sentence"]]:
    """Return the loss of every sentence, nats, with all heads and without each group.

    `parts` are the batches of `batch_list`.
    """
    model, sentences = translator.model, sum(len(batch.numbers) for batch in parts)
    baseline, ablated = np.empty(sentences), np.empty((len(groups), sentences))
    hooks_by_group = [switched_off(model.config, group) for group in groups]
    for number, batch in enumerate(parts):
        memory = model.encode(batch.src, padding_mask(batch.src, model.config.pad_id))
        baseline[batch.numbers] = losses(model, batch, memory=memory).cpu().numpy()
        for n, (group, hooks) in enumerate(zip(groups, hooks_by_group, strict=True)):
            progress((number + n / len(groups)) / len(parts), "measuring without heads")
            known_memory = None if any(kind == "encoder" for kind, _, _ in group) else memory
            ablated[n, batch.numbers] = losses(model, batch, hooks, known_memory).cpu().numpy()
    return baseline, ablated


def _bleu_without(
    translator: Translator,
    corpus: Corpus,
    groups: Sequence[Group],
    resampled: Float[np.ndarray, "draw sentence"],
    progress: Progress,
) -> tuple[float, tuple[Interval, ...]]:
    """Return BLEU with all heads, and its change without each group."""
    exact = Translator(translator.model, translator.vocabulary)
    references = reference_texts(exact, corpus)
    baseline = corpus_bleu(exact, corpus, references)
    base, changes = baseline.resampled_scores(resampled), []
    for n, group in enumerate(groups):
        progress(n / len(groups), "translating without heads")
        bleu = corpus_bleu(without_heads(exact, group), corpus, references)
        changes.append(
            percentile_interval(
                bleu.score - baseline.score, bleu.resampled_scores(resampled) - base
            )
        )
    return baseline.score, tuple(changes)


def reference_texts(translator: Translator, corpus: Corpus) -> list[str]:
    """Return the corpus's targets; the model's translation for a sentence without one."""
    untranslated = [sentence.source for sentence in corpus.sentences if not sentence.target]
    translations = iter(
        translator.translate_batch(untranslated, candidates=1) if untranslated else []
    )
    return [sentence.target or next(translations).text for sentence in corpus.sentences]


def corpus_bleu(translator: Translator, corpus: Corpus, references: Sequence[str]) -> BleuCounts:
    """Return the BLEU counts of greedy translations of the whole corpus."""
    sources = [sentence.source for sentence in corpus.sentences]
    translations = translator.translate_batch(sources, candidates=1)
    return BleuCounts([translation.text for translation in translations], references)


def without_heads(translator: Translator, heads: Iterable[Head]) -> Translator:
    """Return a new translator in which these heads write nothing: their columns of W^O are 0.

    Its translations are those with `switched_off`, but it decodes many sentences faster: without
    hooks, the model runs in ONNX Runtime. The given translator and its model are not changed.
    Raises ValueError for a head that the model does not have.
    """
    checked = check_heads(translator.model.config, heads)
    model = copy.deepcopy(translator.model)
    d_k = model.config.d_k
    for kind, layer, head in checked:
        module = model.get_submodule(site(kind, layer, "heads").removesuffix(".hook_heads"))
        assert isinstance(module, MultiHeadAttention)
        with torch.no_grad():
            module.w_o[:, head * d_k : (head + 1) * d_k] = 0
    return Translator(model, translator.vocabulary)
