"""Integrated gradients: gradients averaged along the line from zero embeddings to the sentence.

Sundararajan, Taly and Yan 2017, "Axiomatic Attribution for Deep Networks"
(https://arxiv.org/abs/1703.01365), section 3: along the straight line from a baseline x′ to the
input x, the gradient of each feature is averaged and multiplied by x − x′. The attributions of all
features sum to f(x) − f(x′) (completeness), which does not hold for a gradient at x alone.

The features are the word embeddings of the source and of the target prefix. The baseline sets each
of them to zero and keeps the positional encodings: a sentence of the same length whose words carry
no information, so that no attribution is due to the positions. A token such as `<unk>` or `<pad>`
would be no neutral baseline, because it has an embedding too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution.gradients import EMBEDDINGS, output_position, rival
from transformer.analysis.attribution.norms import check_same_model
from transformer.hooks import Hooks
from transformer.inference.trace import Trace
from transformer.model import Transformer

STEPS = 128
MAX_TOKENS_PER_PASS = 2048
"""Tokens of one pass: the points on the line are processed in chunks."""


@dataclass(frozen=True)
class IntegratedGradients:
    """The attribution of f(x) − f(x′) to each token, in nats.

    Attributes:
        source: of each source token, (src,).
        target: of each token of the target prefix, (position + 1,), `<s>` first.
        value: f(x), the log-probability of the token, or its logit minus the rival's.
        baseline: f(x′), the same with zero embeddings.
        steps: number of points on the line.
    """

    source: Float[np.ndarray, " src"]
    target: Float[np.ndarray, " tgt"]
    value: float
    baseline: float
    steps: int

    @property
    def gap(self) -> float:
        """Sum of all attributions minus (f(x) − f(x′)), nats; usually smaller with more steps."""
        return float(self.source.sum() + self.target.sum() - (self.value - self.baseline))


def integrated_gradients(
    model: Transformer,
    trace: Trace,
    position: int,
    against: int | str | None = None,
    steps: int = STEPS,
) -> IntegratedGradients:
    """Attribute log p of `trace.predicted_tokens[position]`, or its logit minus that of a rival.

    Uses Gauss–Legendre quadrature, which needs fewer steps than equidistant points. Only the tokens
    of the trace are used.

    Args:
        against: the rival, an id or one of the candidates' pieces (`rival`).
        steps: number of forward and backward passes.

    Raises:
        ValueError: for a trace of another model, a position or rival that does not exist, or no
            steps.
    """
    check_same_model(model, trace)
    if steps < 1:
        raise ValueError(f"steps must be at least 1, not {steps}")
    objective = _Objective(model, trace, position, against)
    gradient_sums = [torch.zeros_like(embeddings[0]) for embeddings in objective.embeddings]
    points, weights = (
        torch.from_numpy(values).to(gradient_sums[0]) for values in _quadrature(steps)
    )
    chunk_size = max(1, MAX_TOKENS_PER_PASS // sum(map(len, gradient_sums)))
    for chunk, weight in zip(points.split(chunk_size), weights.split(chunk_size), strict=True):
        with torch.enable_grad():
            leaves = objective.scaled(chunk)
            grads = torch.autograd.grad(objective(leaves).sum(), leaves)
        for gradient_sum, grad in zip(gradient_sums, grads, strict=True):
            gradient_sum += torch.einsum("n,nld->ld", weight, grad)
    source, target = (
        (gradient_sum * embeddings[0]).sum(dim=-1).double().cpu().numpy()
        for gradient_sum, embeddings in zip(gradient_sums, objective.embeddings, strict=True)
    )
    with torch.no_grad():
        baseline, value = objective(objective.scaled(torch.tensor([0.0, 1.0]).to(points))).tolist()
    return IntegratedGradients(source, target, value, baseline, steps)


class _Objective:
    """f: the value to explain, as a function of the word embeddings of source and prefix."""

    def __init__(
        self, model: Transformer, trace: Trace, position: int, against: int | str | None
    ) -> None:
        self.model = model
        self.chosen = trace.predicted_ids[output_position(trace, position)]
        self.rival = None if against is None else rival(trace, position, against)
        device = model.embedding.weight.device
        input_ids = (trace.src_ids, trace.tgt_ids[: position + 1])
        self.ids = [torch.tensor([ids], device=device) for ids in input_ids]
        with torch.no_grad():
            self.embeddings = [model.embed(ids) for ids in self.ids]

    def scaled(self, points: Float[Tensor, " points"]) -> list[Tensor]:
        """Return the embeddings at these points of the line, with gradients enabled."""
        return [
            (points[:, None, None] * embeddings).requires_grad_() for embeddings in self.embeddings
        ]

    def __call__(self, embeddings: list[Tensor]) -> Float[Tensor, " points"]:
        embeddings_by_site = dict(zip(EMBEDDINGS, embeddings, strict=True))
        hooks = Hooks(dict.fromkeys(embeddings_by_site, lambda _, name: embeddings_by_site[name]))
        src, tgt = (ids.expand(len(embeddings[0]), -1) for ids in self.ids)
        states = self.model.decode(tgt, self.model.encode(src, hooks=hooks), hooks=hooks)
        logits = self.model.project(states[:, -1:])[:, 0]
        if self.rival is not None:
            return logits[:, self.chosen] - logits[:, self.rival]
        return logits.log_softmax(dim=-1)[:, self.chosen]


def _quadrature(steps: int) -> tuple[Float[np.ndarray, " steps"], Float[np.ndarray, " steps"]]:
    """Return Gauss–Legendre points on 0 to 1 and their weights, which sum to 1."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    return (points + 1) / 2, weights / 2
