"""One evaluation of a model in training: attention of the probes, translations, accuracies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor

from transformer.analysis.alignment.error_rate import attention_errors
from transformer.analysis.corpora.gold import Link
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding, output_limit
from transformer.inference.trace import WEIGHTS
from transformer.inference.trace_recording import Recording
from transformer.measures.kinds import AttentionKind
from transformer.model import Transformer
from transformer.text import Vocabulary
from transformer.text.batching import by_length, pad_batch
from transformer.training.quality import is_unspaced
from transformer.training.run_config import INSPECT
from transformer.training.run_folder import Snapshot

N_EXAMPLES = 8  # sentences whose translations are recorded
N_DECODED = 128  # pairs decoded greedily in one evaluation
BATCH_SIZE = 64  # pairs of one teacher-forced batch
MAX_EXTRA_TOKENS = 5  # an output's maximum length beyond that of the longest reference
Weights = Float[np.ndarray, "layers heads _ _"]  # layers, heads, query, key


@dataclass(frozen=True)
class ProbeSet:
    """The sentences that are evaluated in one run.

    Attributes:
        probes: (source, target) texts whose attention is recorded, teacher-forced on the target.
        valid: held-out pairs; the first 8 are the examples, the first 128 are decoded greedily,
            and the first 256 give loss and token accuracy (all of them at the end).
        gold: for each pair of `valid` its (source word, target word) links from 0; empty if
            unknown.
        language: whether the target is a natural language, so that BLEU is meaningful.
        inspect: weight matrix whose updates are recorded; "" for none.
    """

    probes: Sequence[tuple[str, str]]
    valid: Sequence[tuple[str, str]]
    gold: Sequence[set[Link]] = field(default=())
    language: bool = False
    inspect: str = INSPECT


class Evaluator:
    """Evaluates one model. Its methods put the model into evaluation mode."""

    def __init__(self, model: Transformer, vocabulary: Vocabulary, probe_set: ProbeSet) -> None:
        self.model, self.vocabulary, self.probe_set = model, vocabulary, probe_set
        self.device = model.embedding.weight.device
        self._probes = [self._ids(*pair) for pair in probe_set.probes]
        self._valid = [self._ids(*pair) for pair in probe_set.valid]
        longest = max((len(tgt) for _, tgt in self._valid), default=1)
        limit = min(longest + MAX_EXTRA_TOKENS, output_limit(512, model.config, None))
        self._decoding = Decoding(max_len=limit, candidates=1)

    def _ids(self, src: str, tgt: str) -> tuple[list[int], list[int]]:
        return self.vocabulary.encode(src), self.vocabulary.encode(tgt, target=True)

    def labels(self) -> list[dict[str, list[str]]]:
        """Return the tokens of each probe, named as in `Trace`: at row i of cross-attention the
        decoder has read "tgt"[i] and predicts "predicted"[i]."""
        token_strings = self.vocabulary.tokens
        return [
            {
                "src": token_strings(src),
                "tgt": token_strings([self.vocabulary.bos_id, *tgt[:-1]]),
                "predicted": token_strings(tgt),
            }
            for src, tgt in self._probes
        ]

    def attention(self) -> Snapshot:
        """Return attention weights by "{probe}.{kind}": (layers, heads, query, key), float16."""
        if not self._probes:
            return {}
        _, _, weights = self._teacher_forced_pass(self._probes, tuple(WEIGHTS))
        snapshot: Snapshot = {}
        for number, (src, tgt) in enumerate(self._probes):
            for kind, padded in weights.items():
                queries = len(src) if kind == "encoder" else len(tgt)
                keys = len(tgt) if kind == "decoder" else len(src)
                unpadded = padded[number, :, :, :queries, :keys]
                snapshot[f"{number}.{kind}"] = unpadded.astype(np.float16)
        return snapshot

    def examples(self) -> list[dict[str, Any]]:
        """Return the greedy translations of the first validation pairs, and whether each is right.

        Keys: src, tgt, output, right.
        """
        pairs = self.probe_set.valid[:N_EXAMPLES]
        outputs = self._translate(len(pairs))
        return [
            {"src": src, "tgt": tgt, "output": text, "right": is_correct}
            for (src, tgt), (text, is_correct) in zip(pairs, outputs, strict=True)
        ]

    def measure(self, *, full: bool = False) -> dict[str, Any]:
        """Return the figures of a validation line of metrics.jsonl.

        valid_loss (nats per token), perplexity and token_accuracy are teacher-forced.
        sequence_accuracy and, for language, bleu are from greedy decoding of the first pairs;
        "sequences" is their number. bleu is missing if no reference has four words. With gold
        alignments, aer and its parts and the scores of three kinds of heads (previous_token_weight,
        aligned_weight, just_read_weight) are from the teacher-forced attention.

        Args:
            full: use all validation pairs for the teacher-forced figures.
        """
        figures = self._teacher_forced_figures(len(self._valid) if full else 2 * N_DECODED)
        count = min(N_DECODED, len(self._valid))
        outputs = self._translate(count)
        figures["sequence_accuracy"] = sum(is_correct for _, is_correct in outputs) / count
        figures["sequences"] = count
        if self.probe_set.language:
            references = [tgt for _, tgt in self.probe_set.valid[:count]]
            bleu = BLEU(force=True, tokenize="char" if is_unspaced(references) else None)
            # BLEU averages over n-grams of one to four words, so references need four words.
            if bleu.corpus_score(references, [references]).totals[-1]:
                figures["bleu"] = bleu.corpus_score(
                    [text for text, _ in outputs], [references]
                ).score
        return figures

    @torch.no_grad()
    def _teacher_forced_figures(self, max_pairs: int) -> dict[str, Any]:
        """Return loss, token accuracy and, with gold alignments, AER of the first `max_pairs`."""
        pairs, gold = self._valid[:max_pairs], self.probe_set.gold[:max_pairs]
        order = by_length([len(src) for src, _ in pairs], [len(tgt) for _, tgt in pairs])
        kinds: tuple[AttentionKind, ...] = ("cross", "encoder") if gold else ()
        nll, n_correct, positions = 0.0, 0, 0
        attention: dict[str, list[npt.NDArray[np.floating]]] = {kind: [] for kind in kinds}
        for start in range(0, len(order), BATCH_SIZE):
            batch = [pairs[n] for n in order[start : start + BATCH_SIZE]]
            logits, target, weights = self._teacher_forced_pass(batch, kinds)
            is_token = target != self.model.config.pad_id
            real_logits, real_target = logits[is_token], target[is_token]
            nll += float(
                torch.nn.functional.cross_entropy(real_logits, real_target, reduction="sum")
            )
            n_correct += int((real_logits.argmax(-1) == real_target).sum())
            positions += len(real_target)
            for kind, tables in weights.items():
                attention[kind] += [*tables]
        loss = nll / positions
        figures: dict[str, Any] = {
            "valid_loss": loss,
            "perplexity": math.exp(min(loss, 700.0)),
            "token_accuracy": n_correct / positions,
        }
        return figures | (self._head_figures(order, attention) if gold else {})

    def _head_figures(
        self, order: list[int], weights: dict[str, list[npt.NDArray[np.floating]]]
    ) -> dict[str, object]:
        """Return the alignment error rate and head scores over sentences of one-piece words.

        Gold links are between words. Only the first 128 pairs count, because counting links takes
        longer than the forward pass.
        """
        gold = self.probe_set.gold
        word_counts = {
            n: tuple(len(side.split()) for side in self.probe_set.valid[n]) for n in order
        }
        aligned_rows = [
            row
            for row, n in enumerate(order)
            if n < N_DECODED and word_counts[n] == tuple(len(ids) - 1 for ids in self._valid[n])
        ]
        if not aligned_rows:
            return {}
        sentences = [order[row] for row in aligned_rows]
        lengths = [(word_counts[n][0], word_counts[n][1]) for n in sentences]
        encoder, cross = (
            [weights[kind][row] for row in aligned_rows] for kind in ("encoder", "cross")
        )
        links = [gold[n] for n in sentences]
        scores = {
            "previous_token_weight": previous_token_score(encoder, [src for src, _ in lengths]),
            "aligned_weight": linked_score(cross, links),
            "just_read_weight": linked_score(cross, links, shift=1),
        }
        known_scores = {name: score for name, score in scores.items() if score is not None}
        return attention_errors(cross, links, lengths).to_dict() | known_scores

    @torch.no_grad()
    def _teacher_forced_pass(
        self, pairs: list[tuple[list[int], list[int]]], kinds: tuple[AttentionKind, ...]
    ) -> tuple[Tensor, Tensor, dict[AttentionKind, npt.NDArray[np.float32]]]:
        """Return logits (pairs, tgt, vocab), target ids (pairs, tgt) and attention weights.

        The weights are by kind: (pairs, layers, heads, query, key).
        """
        self.model.eval()
        config = self.model.config
        sources, targets = [src for src, _ in pairs], [tgt for _, tgt in pairs]
        batch = pad_batch(sources, targets, pad_id=config.pad_id, bos_id=config.bos_id)
        batch = batch.to(self.device)
        sites = {
            kind: [WEIGHTS[kind].format(layer) for layer in range(config.n_layers)]
            for kind in kinds
        }
        names = [name for kind_names in sites.values() for name in kind_names]
        recording = Recording(self.model, None, names)
        logits = self.model(batch.src, batch.tgt_in, hooks=recording.hooks)
        weights = {
            kind: torch.stack([recording.tensors[name] for name in kind_names], dim=1)
            for kind, kind_names in sites.items()
        }
        return (
            logits,
            batch.tgt_out,
            {kind: stacked.float().cpu().numpy() for kind, stacked in weights.items()},
        )

    def _translate(self, count: int) -> list[tuple[str, bool]]:
        """Return greedy outputs of the first `count` validation sources, and whether each equals
        its reference."""
        if not count:
            return []
        self.model.eval()
        sources = [src for src, _ in self._valid[:count]]
        outputs = SequenceDecoder(self.model).run(sources, self._decoding)
        texts = [self.vocabulary.decode(output.decoded.ids) for output in outputs]
        references = [tgt for _, tgt in self.probe_set.valid[:count]]
        return [
            (text, output.decoded.finished and text.split() == tgt.split())
            for text, output, tgt in zip(texts, outputs, references, strict=True)
        ]


# Induction (Olsson et al. 2022, arXiv 2209.11895) needs two steps: find an earlier occurrence of
# the current token, and attend to what followed it. A language model needs a previous-token head
# for the second step. Here a cross-attention head may do the first (`linked_score` with a shift of
# 1) and a head of a later layer the second (a shift of 0), which finds the next position without
# such a head.


def previous_token_score(encoder: Sequence[Weights], lengths: Sequence[int]) -> float | None:
    """Return the mean weight on the previous token, of the encoder head with the highest mean.

    Args:
        encoder: encoder self-attention of each sentence, padding included.
        lengths: source tokens of each sentence, without the end mark.

    None if no sentence has two tokens.
    """
    rows = [
        weights[:, :, np.arange(1, length), np.arange(length - 1)]
        for weights, length in zip(encoder, lengths, strict=True)
    ]
    return _best_head(rows)


def linked_score(
    cross: Sequence[Weights], gold: Sequence[set[Link]], shift: int = 0
) -> float | None:
    """Return the mean weight on the linked source tokens, of the best cross-attention head.

    The mean is over target tokens that have a link; several links of one target token are added up.
    In the induction task this is the induction score.

    Args:
        cross: cross-attention of each sentence, padding included; row j writes target token j.
        gold: (source token, target token) links of each sentence, from 0.
        shift: 0 for the row that writes the target token, 1 for the row whose input it is.

    None if there is no link.
    """
    rows = []
    for weights, links in zip(cross, gold, strict=True):
        for target in sorted({j for _, j in links}):
            sources = [i for i, j in sorted(links) if j == target]
            rows.append(weights[:, :, target + shift, sources].sum(-1, keepdims=True))
    return _best_head(rows)


def _best_head(rows: Sequence[Float[np.ndarray, "layers heads _"]]) -> float | None:
    """Return the highest mean over all rows of any head; None without rows."""
    if not rows or not sum(part.shape[-1] for part in rows):
        return None
    return float(np.concatenate(rows, axis=-1).mean(-1).max())
