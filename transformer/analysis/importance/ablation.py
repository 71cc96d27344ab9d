"""What a corpus loses, in loss and in BLEU, without a head or without several."""

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
    batched,
    encoded,
    lengths,
    losses,
    part,
    silent,
)
from transformer.analysis.evidence.bootstrap import BleuCounts, Interval, draws, interval, mean_loss
from transformer.analysis.interventions.switching import (
    Head,
    all_heads,
    check_heads,
    site,
    switched_off,
)
from transformer.inference import Translator
from transformer.inference.acceleration import fast_products
from transformer.model import Transformer
from transformer.model.attention import MultiHeadAttention, padding_mask

Group = tuple[Head, ...]


@dataclass(frozen=True, eq=False)
class Ablation:
    """A corpus without each of some groups of heads, beside the corpus as it is.

    Attributes:
        loss: of the whole model, nats a target token; bleu: of its greedy translations against
            the corpus's targets, 0 to 100, or None where it was not asked for.
        groups: heads that were off together, in the order of what follows.
        loss_changes, bleu_changes: without the heads less with them, with their intervals; a loss
            that grows and a BLEU that falls are harm.
    """

    loss: float
    bleu: float | None
    groups: tuple[Group, ...]
    loss_changes: tuple[Interval, ...]
    bleu_changes: tuple[Interval, ...] | None

    def to_frame(self) -> pd.DataFrame:
        """A line a group: off (how many heads), and kind, layer and head if each is of one; loss,
        loss_change, loss_low, loss_high, loss_sure (whether 0 is outside the interval), and the
        same of bleu if it was asked for."""
        table = pd.DataFrame({"off": [len(group) for group in self.groups]})
        if all(len(group) == 1 for group in self.groups):
            for n, name in enumerate(("kind", "layer", "head")):
                table[name] = [group[0][n] for group in self.groups]
        for name, whole, changes in (
            ("loss", self.loss, self.loss_changes),
            ("bleu", self.bleu, self.bleu_changes),
        ):
            if whole is None or changes is None:
                continue
            table[name] = [whole + change.value for change in changes]
            table[f"{name}_change"] = [change.value for change in changes]
            table[f"{name}_low"] = [change.low for change in changes]
            table[f"{name}_high"] = [change.high for change in changes]
            table[f"{name}_sure"] = [change.sure for change in changes]
        return table


def leave_one_out(
    translator: Translator,
    corpus: Corpus,
    heads: Iterable[Head] | None = None,
    *,
    bleu: bool = False,
    progress: Progress = silent,
) -> Ablation:
    """`measure_without` each of these heads alone; left out: of all heads of the model."""
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
    progress: Progress = silent,
) -> Ablation:
    """Switch off each group of heads in its turn and measure the corpus again.

    Args:
        bleu: translate the corpus each time as well, which takes several times as long.

    Raises:
        ValueError: for a head that the model has not, or a text that is too long.
    """
    checked = tuple(tuple(check_heads(translator.model.config, group)) for group in groups)
    parts = batched(translator, encoded(translator, corpus, progress))
    tokens, drawn = lengths(parts), draws(len(corpus))
    share = 0.2 if bleu else 1.0  # of the time, about
    whole, each = losses_without(translator, parts, checked, part(progress, 0, share))
    base = mean_loss(whole, tokens, drawn)
    changes = tuple(
        interval((one - whole).sum() / tokens.sum(), mean_loss(one, tokens, drawn) - base)
        for one in each
    )
    score, score_changes = None, None
    if bleu:
        then = part(progress, share, 1 - share)
        score, score_changes = _bleu_without(translator, corpus, checked, drawn, then)
    progress(1.0, "measured")
    return Ablation(float(whole.sum() / tokens.sum()), score, checked, changes, score_changes)


@torch.inference_mode()
def losses_without(
    translator: Translator,
    parts: Sequence[NumberedBatch],
    groups: Sequence[Sequence[Head]],
    progress: Progress = silent,
) -> tuple[Float[np.ndarray, "sentence"], Float[np.ndarray, "group sentence"]]:
    """Losses of every sentence, nats, with all heads and without each group; see `batched`."""
    model, sentences = translator.model, sum(len(batch.numbers) for batch in parts)
    whole, each = np.empty(sentences), np.empty((len(groups), sentences))
    off = [switched_off(model.config, group) for group in groups]
    for number, batch in enumerate(parts):
        with fast_products():
            memory = model.encode(batch.src, padding_mask(batch.src, model.config.pad_id))
        whole[batch.numbers] = losses(model, batch, memory=memory).cpu().numpy()
        for n, (group, hooks) in enumerate(zip(groups, off, strict=True)):
            progress((number + n / len(groups)) / len(parts), "measuring without heads")
            same = None if any(kind == "encoder" for kind, _, _ in group) else memory
            each[n, batch.numbers] = losses(model, batch, hooks, same).cpu().numpy()
    return whole, each


def _bleu_without(
    translator: Translator,
    corpus: Corpus,
    groups: Sequence[Group],
    drawn: Float[np.ndarray, "draw sentence"],
    progress: Progress,
) -> tuple[float, tuple[Interval, ...]]:
    """BLEU with all heads, and how it changes without each group."""
    exact = Translator(translator.model, translator.vocabulary, "fp32")
    references = references_of(exact, corpus)
    whole = bleu_of(exact, corpus, references)
    base, changes = whole.drawn(drawn), []
    for n, group in enumerate(groups):
        progress(n / len(groups), "translating without heads")
        one = bleu_of(without_heads(exact, group), corpus, references)
        changes.append(interval(one.score - whole.score, one.drawn(drawn) - base))
    return whole.score, tuple(changes)


def references_of(translator: Translator, corpus: Corpus) -> list[str]:
    """The corpus's targets; the model's own translation where there is none."""
    own = [sentence.source for sentence in corpus.sentences if not sentence.target]
    made = iter(translator.translate_batch(own, candidates=1) if own else [])
    return [sentence.target or next(made).text for sentence in corpus.sentences]


def bleu_of(translator: Translator, corpus: Corpus, references: Sequence[str]) -> BleuCounts:
    """BLEU counts of greedy translations of the whole corpus."""
    sources = [sentence.source for sentence in corpus.sentences]
    found = translator.translate_batch(sources, candidates=1)
    return BleuCounts([translation.text for translation in found], references)


def without_heads(translator: Translator, heads: Iterable[Head]) -> Translator:
    """A translator of its own in which these heads write nothing: their columns of W^O are 0.

    It translates as with `switched_off`, but many sentences at full speed: hooks need the whole
    decoder at every step. The translator given, and its model, stay as they are. Raises ValueError
    for a head that the model has not.
    """
    checked = check_heads(translator.model.config, heads)
    model = copy.deepcopy(translator.model)
    fold(model, dict.fromkeys(checked, 0.0))
    return Translator(model, translator.vocabulary, "fp32")


def fold(model: Transformer, gates: dict[Head, float]) -> None:
    """Multiply these heads' columns of W^O by their gates; `model` must be the caller's own."""
    d_k = model.config.d_k
    for (kind, layer, head), gate in gates.items():
        module = model.get_submodule(site(kind, layer, "heads").removesuffix(".hook_heads"))
        assert isinstance(module, MultiHeadAttention)
        with torch.no_grad():
            module.w_o[:, head * d_k : (head + 1) * d_k] *= gate
