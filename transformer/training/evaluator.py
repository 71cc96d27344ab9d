"""What one look at a model sees: attention of the probes, translations, accuracies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sacrebleu.metrics.bleu import BLEU
from torch import Tensor

from transformer.analysis.alignment.error_rate import attention_errors
from transformer.analysis.corpora.gold import Link
from transformer.hooks import Hooks
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.options import Decoding, output_limit
from transformer.inference.trace import WEIGHTS
from transformer.model import Transformer
from transformer.run_config import INSPECT
from transformer.text import Vocabulary
from transformer.text.batching import by_length, pad, shift_right
from transformer.training.snapshots import Snapshot

EXAMPLES = 8  # translated again at every look
SAMPLE = 128  # pairs that a look decodes freely
ROWS = 64  # pairs side by side in a teacher-forced pass
ROOM = 5  # an output may be so many pieces longer than the longest reference


@dataclass(frozen=True)
class ProbeSet:
    """What is looked at in one run.

    Attributes:
        probes: (source, target) texts whose attention is kept, teacher-forced on the target.
        valid: held-out pairs; the first 8 are the examples, the first 128 are decoded freely, and
            twice as many count for loss and token accuracy (all of them at the end).
        gold: for each of `valid` its (source word, target word) links from 0, or nothing known.
        language: whether BLEU says something about the target.
        inspect: the weight matrix whose updates are written out; "" for none.
    """

    probes: Sequence[tuple[str, str]]
    valid: Sequence[tuple[str, str]]
    gold: Sequence[set[Link]] = field(default=())
    language: bool = False
    inspect: str = INSPECT


class Evaluator:
    """Looks at one model through its vocabulary. Puts the model into evaluation mode."""

    def __init__(self, model: Transformer, vocabulary: Vocabulary, probe_set: ProbeSet) -> None:
        self.model, self.vocabulary, self.probe_set = model, vocabulary, probe_set
        self.device = model.embedding.weight.device
        self._probes = [self._ids(*pair) for pair in probe_set.probes]
        self._valid = [self._ids(*pair) for pair in probe_set.valid]
        longest = max((len(tgt) for _, tgt in self._valid), default=1)
        limit = min(longest + ROOM, output_limit(512, model.config, None))
        self._decoding = Decoding(max_len=limit, candidates=1)

    def _ids(self, src: str, tgt: str) -> tuple[list[int], list[int]]:
        return self.vocabulary.encode(src), self.vocabulary.encode(tgt, target=True)

    def labels(self) -> list[dict[str, list[str]]]:
        """Tokens of each probe, as `Trace` names them: row i of cross-attention has read
        "tgt"[i] and writes "predicted"[i]."""
        names = self.vocabulary.tokens
        return [
            {
                "src": names(src),
                "tgt": names([self.vocabulary.bos_id, *tgt[:-1]]),
                "predicted": names(tgt),
            }
            for src, tgt in self._probes
        ]

    def attention(self) -> Snapshot:
        """`{probe}.{kind}` to (layers, heads, query, key) in float16."""
        if not self._probes:
            return {}
        _, _, weights = self._forced(self._probes, tuple(WEIGHTS))
        found: Snapshot = {}
        for number, (src, tgt) in enumerate(self._probes):
            for kind, table in weights.items():  # side by side they are padded to the longest
                queries = len(src) if kind == "encoder" else len(tgt)
                keys = len(tgt) if kind == "decoder" else len(src)
                own = table[number, :, :, :queries, :keys]
                found[f"{number}.{kind}"] = own.astype(np.float16)
        return found

    def examples(self) -> list[dict[str, Any]]:
        """The examples translated freely, as they are now."""
        pairs = self.probe_set.valid[:EXAMPLES]
        outputs = self._translate(len(pairs))
        return [
            {"src": src, "tgt": tgt, "output": text, "right": right}
            for (src, tgt), (text, right) in zip(pairs, outputs, strict=True)
        ]

    def measure(self, *, whole: bool = False) -> dict[str, Any]:
        """Figures for a validation line.

        valid_loss (nats a token), perplexity and token_accuracy are teacher-forced;
        sequence_accuracy and, for language, bleu are of free greedy decoding of the first
        `sequences` pairs, without bleu where no reference has four words; aer … is of the
        teacher-forced cross-attention where gold alignments are known.
        """
        found = self._teacher_forced(len(self._valid) if whole else 2 * SAMPLE)
        count = min(SAMPLE, len(self._valid))
        outputs = self._translate(count)
        found["sequence_accuracy"] = sum(right for _, right in outputs) / count
        found["sequences"] = count
        if self.probe_set.language:
            references = [tgt for _, tgt in self.probe_set.valid[:count]]
            bleu = BLEU(force=True)
            # BLEU is a mean over n-grams of one to four words; shorter references have none.
            if bleu.corpus_score(references, [references]).totals[-1]:
                found["bleu"] = bleu.corpus_score([text for text, _ in outputs], [references]).score
        return found

    @torch.no_grad()
    def _teacher_forced(self, most: int) -> dict[str, Any]:
        """Loss and token accuracy over the first `most` pairs, and AER where there is gold."""
        pairs, gold = self._valid[:most], self.probe_set.gold[:most]
        order = by_length([len(src) for src, _ in pairs], [len(tgt) for _, tgt in pairs])
        kinds = ("cross",) if gold else ()
        nll, right, positions = 0.0, 0, 0
        kept: list[npt.NDArray[np.floating]] = []
        for start in range(0, len(order), ROWS):
            part = [pairs[n] for n in order[start : start + ROWS]]
            logits, target, weights = self._forced(part, kinds)
            real = target != self.model.config.pad_id
            chosen, wanted = logits[real], target[real]
            nll += float(torch.nn.functional.cross_entropy(chosen, wanted, reduction="sum"))
            right += int((chosen.argmax(-1) == wanted).sum())
            positions += len(wanted)
            kept += [table for each in weights.values() for table in each]
        loss = nll / positions
        found: dict[str, Any] = {
            "valid_loss": loss,
            "perplexity": math.exp(min(loss, 700.0)),
            "token_accuracy": right / positions,
        }
        return found | (self._errors(order, kept) if gold else {})

    def _errors(
        self, order: list[int], weights: list[npt.NDArray[np.floating]]
    ) -> dict[str, object]:
        """AER over the sentences that have a piece for each word, as gold links count words. Of the
        first 128 pairs alone: to count links takes longer than the pass itself."""
        gold = self.probe_set.gold
        words = {n: tuple(len(side.split()) for side in self.probe_set.valid[n]) for n in order}
        fits = [
            place
            for place, n in enumerate(order)
            if n < SAMPLE and words[n] == tuple(len(ids) - 1 for ids in self._valid[n])
        ]
        if not fits:
            return {}
        sentences = [order[place] for place in fits]
        lengths = [(words[n][0], words[n][1]) for n in sentences]
        kept = [weights[place] for place in fits]
        return attention_errors(kept, [gold[n] for n in sentences], lengths).to_dict()

    @torch.no_grad()
    def _forced(
        self, pairs: list[tuple[list[int], list[int]]], kinds: tuple[str, ...]
    ) -> tuple[Tensor, Tensor, dict[str, npt.NDArray[np.float32]]]:
        """Logits and target ids (pairs, tgt), and by kind (pairs, layers, heads, query, key)."""
        self.model.eval()
        config = self.model.config
        targets = [tgt for _, tgt in pairs]
        src = pad([src for src, _ in pairs], config.pad_id, self.device)
        tgt = pad(shift_right(targets, config.bos_id), config.pad_id, self.device)
        out = pad(targets, config.pad_id, self.device)
        kept: dict[str, Tensor] = {}
        sites = {
            kind: [WEIGHTS[kind].format(layer) for layer in range(config.n_layers)]
            for kind in kinds
        }

        def keep(tensor: Tensor, name: str) -> None:
            kept[name] = tensor

        names = [name for each in sites.values() for name in each]
        logits = self.model(src, tgt, hooks=Hooks(dict.fromkeys(names, keep)))
        weights = {
            kind: torch.stack([kept[name] for name in each], dim=1).float().cpu().numpy()
            for kind, each in sites.items()
        }
        return logits, out, weights

    def _translate(self, count: int) -> list[tuple[str, bool]]:
        """Greedy outputs of the first `count` validation sources, and whether each is right."""
        if not count:
            return []
        self.model.eval()
        sources = [src for src, _ in self._valid[:count]]
        outputs = SequenceDecoder(self.model, "fp32").run(sources, self._decoding)
        texts = [self.vocabulary.decode(output.decoded.ids) for output in outputs]
        wanted = [tgt for _, tgt in self.probe_set.valid[:count]]
        return [
            (text, output.decoded.finished and text.split() == tgt.split())
            for text, output, tgt in zip(texts, outputs, wanted, strict=True)
        ]
