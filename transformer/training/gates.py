"""Heads that learn whether they are needed (Voita et al. 2019, section 6).

    found = learn_gates(translator, corpus, steps=300, penalty=0.005)
    found.survivors                       # the heads that stayed
    save_checkpoint(folder, found.translator.model, translator.vocabulary, card)

Every head's output is multiplied by a gate, and every open gate costs `penalty`. Voita et al. train
the weights further at the same time; here they rest unless `weight_rate` is given, so that what is
found is about the model as it is. At the end the gates are multiplied into W^O: what comes out is
a model like any other, and its checkpoint needs nothing new. With `rounded` they are made 0 or 1
first, as Voita et al. do: the heads that stay are then those of the model given, unchanged.
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
from transformer.analysis.corpora.passes import Pair, Progress, batched, encoded, losses, silent
from transformer.analysis.importance.ablation import fold
from transformer.analysis.interventions.switching import Head, all_heads, check_heads, site
from transformer.hooks import HookFn, Hooks
from transformer.inference import Translator
from transformer.model.gates import HardConcrete

ROWS = 32
"""Sentences of one step."""


@dataclass(frozen=True, eq=False)
class LearnedGates:
    """Which heads a model keeps when each has its price.

    Attributes:
        heads: (kind, layer, head), in the order of what follows.
        open: probability that the gate is not 0. gates: its value, 0 to 1, with nothing drawn, or 0
            or 1 where they were rounded.
        history: a line a step: step, loss (nats a token, gates drawn), heads (expected to be open).
        translator: a new one whose heads have their gates in W^O; the one given is unchanged.
    """

    heads: tuple[Head, ...]
    open: tuple[float, ...]
    gates: tuple[float, ...]
    history: pd.DataFrame
    translator: Translator

    @property
    def survivors(self) -> list[Head]:
        """The heads whose gates are above 0."""
        return [head for head, gate in zip(self.heads, self.gates, strict=True) if gate > 0]

    def to_frame(self) -> pd.DataFrame:
        """A line a head: kind, layer, head, open, gate."""
        table = pd.DataFrame(self.heads, columns=["kind", "layer", "head"])
        return table.assign(open=self.open, gate=self.gates)


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
    progress: Progress = silent,
) -> LearnedGates:
    """Minimise loss + penalty · Σ P(gate ≠ 0) over the gates (their section 6.1).

    Args:
        corpus: sentences to learn from; a target that is missing is the model's own translation.
        penalty: λ, what a head must be worth to stay, in nats a target token.
        heads: those with a gate; left out: all. The others are always open.
        rate: Adam's learning rate for log α.
        weight_rate: for the weights, which then learn too, with dropout; 0 leaves them as they are.
        rounded: whether each gate ends as 0 or 1, whichever is the more probable.
        progress: as in `passes`; what it raises ends the work.

    Raises ValueError for a head that the model has not, or settings that are out of range.
    """
    if penalty < 0 or weight_rate < 0 or rate <= 0 or steps < 1:
        raise ValueError(
            f"penalty {penalty} and weight_rate {weight_rate} must be at least 0, rate {rate} "
            f"above 0, and steps {steps} at least 1"
        )
    config = translator.model.config
    gated = all_heads(config) if heads is None else check_heads(config, heads)
    if not gated:
        raise ValueError("there is no head to learn a gate for; name at least one")
    pairs = encoded(translator, corpus, progress)
    model = copy.deepcopy(translator.model).train(weight_rate > 0)
    model.requires_grad_(weight_rate > 0)
    gates = HardConcrete(len(gated)).to(translator.device)
    groups = [{"params": [gates.log_alpha], "lr": rate}]
    if weight_rate:
        groups.append({"params": list(model.parameters()), "lr": weight_rate})
    adam = torch.optim.Adam(groups, betas=(0.9, 0.98), eps=1e-9)  # section 5.3 of the paper
    draws = torch.Generator().manual_seed(seed)
    history = []
    for step, some in enumerate(itertools.islice(_epochs(pairs, draws), steps)):
        progress(step / steps, "learning gates")
        with torch.enable_grad():
            loss = torch.zeros((), device=translator.device)
            for batch in batched(translator, some):
                drawn = gates.sample(len(batch.numbers), draws)
                loss = loss + losses(model, batch, _hooks(gated, drawn, config.n_heads)).sum()
            loss = loss / sum(len(pair.out) for pair in some)
            n_open = gates.open().sum()
            adam.zero_grad()
            (loss + penalty * n_open).backward()
        adam.step()
        history.append((step, float(loss.detach()), float(n_open.detach())))
    progress(1.0, "learned")
    values = (gates.rounded() if rounded else gates()).tolist()
    shares = gates.open().tolist()
    model.requires_grad_(True).eval()
    fold(model, dict(zip(gated, values, strict=True)))
    return LearnedGates(
        tuple(gated),
        tuple(shares),
        tuple(values),
        pd.DataFrame(history, columns=["step", "loss", "heads"]),
        Translator(model, translator.vocabulary, "fp32"),
    )


def _epochs(pairs: Sequence[Pair], draws: torch.Generator) -> Iterator[list[Pair]]:
    """`ROWS` pairs at a time, all of them once and then again, each time in another order."""
    while True:
        order = torch.randperm(len(pairs), generator=draws).tolist()
        for start in range(0, len(order), ROWS):
            yield [pairs[n] for n in order[start : start + ROWS]]


def _hooks(heads: Sequence[Head], drawn: Float[Tensor, "rows gate"], n_heads: int) -> Hooks:
    """Each head's output times the gate that its sentence drew."""
    places: dict[str, list[tuple[int, int]]] = {}
    for n, (kind, layer, head) in enumerate(heads):
        places.setdefault(site(kind, layer, "heads"), []).append((head, n))
    functions: dict[str, HookFn] = {}
    for name, both in places.items():
        numbers, columns = torch.tensor(both, device=drawn.device).T
        factors = drawn.new_ones(len(drawn), n_heads).index_copy(1, numbers, drawn[:, columns])
        functions[name] = _times(factors[..., None, None])
    return Hooks(functions)


def _times(factors: Tensor) -> HookFn:
    return lambda outputs, _: outputs * factors
