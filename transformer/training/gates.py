"""Head pruning with learned gates (Voita et al. 2019, section 6).

    result = learn_gates(translator, corpus, steps=300, penalty=0.005)
    result.survivors                      # the heads that were kept
    save_checkpoint(folder, result.translator.model, translator.vocabulary, card)

Every head's output is multiplied by a gate, and the loss has a `penalty` for every open gate. Voita
et al. also train the weights; here they are frozen unless `weight_rate` is given, so that the
result describes the given model. Finally the gates are multiplied into W^O, so the new model needs
no code for gates. With `rounded`, gates are rounded to 0 or 1 first, as Voita et al. do: the
remaining heads are then unchanged.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import (
    Pair,
    Progress,
    batch_list,
    encode_corpus,
    losses,
    no_progress,
)
from transformer.analysis.importance.ablation import fold_gates
from transformer.analysis.interventions.switching import Head, all_heads, check_heads, site
from transformer.hooks import HookFn, Hooks
from transformer.inference import Translator
from transformer.model.gates import HardConcrete

BATCH_SIZE = 32
"""Sentences per step."""


@dataclass(frozen=True, eq=False)
class LearnedGates:
    """The result of `learn_gates`.

    Attributes:
        heads: (kind, layer, head) of each gate.
        prob_nonzero: probability that each gate is not 0.
        gates: value of each gate without sampling, 0 to 1; 0 or 1 if rounded.
        history: one row per step: step, loss (nats per token, with sampled gates), heads (expected
            number of open gates).
        translator: a new translator with the gates multiplied into W^O.
    """

    heads: tuple[Head, ...]
    prob_nonzero: tuple[float, ...]
    gates: tuple[float, ...]
    history: pd.DataFrame
    translator: Translator

    @property
    def survivors(self) -> list[Head]:
        """The heads whose gates are above 0."""
        return [head for head, gate in zip(self.heads, self.gates, strict=True) if gate > 0]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head: kind, layer, head, open, gate."""
        table = pd.DataFrame(self.heads, columns=["kind", "layer", "head"])
        return table.assign(open=self.prob_nonzero, gate=self.gates)


def learn_gates(
    translator: Translator,
    corpus: Corpus,
    *,
    penalty: float,
    steps: int = 300,
    heads: Iterable[Head] | None = None,
    rate: float = 0.1,
    weight_rate: float = 0.0,
    rounded: bool = False,
    seed: int = 1,
    progress: Progress = no_progress,
) -> LearnedGates:
    """Minimise loss + penalty · Σ P(gate ≠ 0) over the gates (their section 6.1).

    Args:
        corpus: training sentences; a missing target is replaced by the model's translation.
        penalty: λ, in nats per target token: heads that reduce the loss by less are pruned.
        heads: heads with a gate; default: all. The others are always open.
        rate: Adam's learning rate for log α.
        weight_rate: learning rate of the weights, trained with dropout; 0 freezes them.
        rounded: whether to round each gate to 0 or 1, whichever is more probable.
        progress: called as in `passes`; an exception that it raises ends the training.

    Raises ValueError for an unknown head or a setting out of range.
    """
    if penalty < 0 or weight_rate < 0 or rate <= 0 or steps < 1:
        raise ValueError(
            f"penalty {penalty} and weight_rate {weight_rate} must be at least 0, rate {rate} "
            f"above 0, and steps {steps} at least 1"
        )
    config = translator.model.config
    gated = all_heads(config) if heads is None else check_heads(config, heads)
    if not gated:
        raise ValueError("heads is empty; name at least one head")
    pairs = encode_corpus(translator, corpus, progress)
    model = copy.deepcopy(translator.model).train(weight_rate > 0)
    model.requires_grad_(weight_rate > 0)
    gates = HardConcrete(len(gated)).to(translator.device)
    groups = [{"params": [gates.log_alpha], "lr": rate}]
    if weight_rate:
        groups.append({"params": list(model.parameters()), "lr": weight_rate})
    adam = torch.optim.Adam(groups, betas=(0.9, 0.98), eps=1e-9)  # section 5.3 of the paper
    generator = torch.Generator().manual_seed(seed)
    history = []
    for step, batch_pairs in enumerate(itertools.islice(_endless_batches(pairs, generator), steps)):
        progress(step / steps, "learning gates")
        with torch.enable_grad():
            loss = torch.zeros((), device=translator.device)
            for batch in batch_list(translator, batch_pairs):
                samples = gates.sample(len(batch.numbers), generator)
                loss = (
                    loss + losses(model, batch, _gate_hooks(gated, samples, config.n_heads)).sum()
                )
            loss = loss / sum(len(pair.out) for pair in batch_pairs)
            n_open = gates.prob_nonzero().sum()
            adam.zero_grad()
            (loss + penalty * n_open).backward()
        adam.step()
        history.append((step, float(loss.detach()), float(n_open.detach())))
    progress(1.0, "learned")
    values = (gates.rounded() if rounded else gates()).tolist()
    open_probabilities = gates.prob_nonzero().tolist()
    model.requires_grad_(True).eval()
    fold_gates(model, dict(zip(gated, values, strict=True)))
    return LearnedGates(
        tuple(gated),
        tuple(open_probabilities),
        tuple(values),
        pd.DataFrame(history, columns=["step", "loss", "heads"]),
        Translator(model, translator.vocabulary, "fp32"),
    )


def _endless_batches(pairs: Sequence[Pair], generator: torch.Generator) -> Iterator[list[Pair]]:
    """Yield batches of `BATCH_SIZE` pairs, endlessly, shuffled again for every epoch."""
    while True:
        order = torch.randperm(len(pairs), generator=generator).tolist()
        for start in range(0, len(order), BATCH_SIZE):
            yield [pairs[n] for n in order[start : start + BATCH_SIZE]]


def _gate_hooks(heads: Sequence[Head], samples: Float[Tensor, "rows gate"], n_heads: int) -> Hooks:
    """Return hooks that multiply each head's output by the sampled gate of its sentence."""
    heads_by_site: dict[str, list[tuple[int, int]]] = {}
    for n, (kind, layer, head) in enumerate(heads):
        heads_by_site.setdefault(site(kind, layer, "heads"), []).append((head, n))
    functions: dict[str, HookFn] = {}
    for name, heads_and_columns in heads_by_site.items():
        numbers, columns = torch.tensor(heads_and_columns, device=samples.device).T
        factors = samples.new_ones(len(samples), n_heads).index_copy(
            1, numbers, samples[:, columns]
        )
        functions[name] = _multiply_by(factors[..., None, None])
    return Hooks(functions)


def _multiply_by(factors: Tensor) -> HookFn:
    return lambda outputs, _: outputs * factors
