"""Integrated gradients: gradients gathered all the way from no words at all to the sentence.

Sundararajan, Taly and Yan 2017, "Axiomatic Attribution for Deep Networks"
(https://arxiv.org/abs/1703.01365), section 3: along the straight line from a baseline x′ to the
input x, each feature's slope is averaged and multiplied by x − x′. What all features get sums to
f(x) − f(x′) (completeness), which a gradient at x alone does not keep.

The features are the word embeddings of the source and of what the decoder has read. The baseline
is zero in each of them, with the positions kept: a sentence as long, of words that say nothing, so
that no token gets credit for there being a place. No token of the vocabulary does that as well,
`<unk>` and `<pad>` having vectors of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution.gradients import EMBEDDINGS, output_position, rival
from transformer.analysis.attribution.norms import same_model
from transformer.hooks import Hooks
from transformer.inference.trace import Trace
from transformer.model import Transformer

STEPS = 128
TOKENS = 2048
"""Tokens of one pass: the points of the line are taken some at a time."""


@dataclass(frozen=True)
class Integrated:
    """What each token brought from f(x′) to f(x), in nats.

    Attributes:
        source: of each source token, (src,).
        target: of each token that the decoder had read by then, (position + 1,), `<s>` first.
        value: f(x), the log-probability of the token, or its logit less the rival's.
        baseline: f(x′), the same where no word says anything.
        steps: points of the line.
    """

    source: Float[np.ndarray, " src"]
    target: Float[np.ndarray, " tgt"]
    value: float
    baseline: float
    steps: int

    @property
    def gap(self) -> float:
        """What the sum of all misses of f(x) − f(x′), nats; more steps bring it down, though not
        every time."""
        return float(self.source.sum() + self.target.sum() - (self.value - self.baseline))


def integrated_gradients(
    model: Transformer,
    trace: Trace,
    position: int,
    against: int | str | None = None,
    steps: int = STEPS,
) -> Integrated:
    """Of log p of `trace.predicted_tokens[position]`, or of its logit less that of a rival.

    The points and their weights are those of Gauss and Legendre, which near the integral in fewer
    steps than points at equal distances. Only the tokens of the trace are read.

    Args:
        against: the rival, an id or one of the candidates' pieces (`rival`).
        steps: passes forward and back.

    Raises:
        ValueError: for a trace of another model, a position or rival that is not there, no steps.
    """
    same_model(model, trace)
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")
    asked = _Asked(model, trace, position, against)
    slopes = [torch.zeros_like(one[0]) for one in asked.words]
    points, weights = (torch.from_numpy(found).to(slopes[0]) for found in _line(steps))
    some = max(1, TOKENS // sum(map(len, slopes)))
    for at, weight in zip(points.split(some), weights.split(some), strict=True):
        with torch.enable_grad():
            leaves = asked.scaled(at)
            found = torch.autograd.grad(asked(leaves).sum(), leaves)
        for slope, each in zip(slopes, found, strict=True):
            slope += torch.einsum("n,nld->ld", weight, each)
    source, target = (
        (slope * one[0]).sum(dim=-1).double().cpu().numpy()
        for slope, one in zip(slopes, asked.words, strict=True)
    )
    with torch.no_grad():
        baseline, whole = asked(asked.scaled(torch.tensor([0.0, 1.0]).to(points))).tolist()
    return Integrated(source, target, whole, baseline, steps)


class _Asked:
    """f: what is to be explained, as a function of the word embeddings of source and prefix."""

    def __init__(
        self, model: Transformer, trace: Trace, position: int, against: int | str | None
    ) -> None:
        self.model = model
        self.chosen = trace.predicted_ids[output_position(trace, position)]
        self.other = None if against is None else rival(trace, position, against)
        device = model.embedding.weight.device
        read = (trace.src_ids, trace.tgt_ids[: position + 1])
        self.ids = [torch.tensor([one], device=device) for one in read]
        with torch.no_grad():
            self.words = [model.embed(one) for one in self.ids]

    def scaled(self, points: Float[Tensor, " points"]) -> list[Tensor]:
        """The words at these points of the line, to be differentiated by."""
        return [(points[:, None, None] * one).requires_grad_() for one in self.words]

    def __call__(self, words: list[Tensor]) -> Float[Tensor, " points"]:
        put = dict(zip(EMBEDDINGS, words, strict=True))
        hooks = Hooks(dict.fromkeys(put, lambda _, name: put[name]))
        src, tgt = (one.expand(len(words[0]), -1) for one in self.ids)
        states = self.model.decode(tgt, self.model.encode(src, hooks=hooks), hooks=hooks)
        logits = self.model.project(states[:, -1:])[:, 0]
        if self.other is not None:
            return logits[:, self.chosen] - logits[:, self.other]
        return logits.log_softmax(dim=-1)[:, self.chosen]


def _line(steps: int) -> tuple[Float[np.ndarray, " steps"], Float[np.ndarray, " steps"]]:
    """Points of Gauss and Legendre from 0 to 1, and their weights, which sum to 1."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    return (points + 1) / 2, weights / 2
