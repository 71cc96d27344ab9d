"""Direct logit attribution: what every head adds to the logit of one token, on the straight way up.

    found = direct_logits(model, trace, 3)              # of the token written at position 3
    found = direct_logits(model, trace, 3, against=id)  # its lead over another
    found.table                # a line a part of the decoder: part, layer, head, adds
    found.heads("cross")       # (layers, heads)
    found.removed("cross")     # what really goes when that head is taken away at this position

The decoder's residual stream is a sum, and the logits are its last state times the embeddings, so
every sublayer's share can be read off (Elhage et al. 2021, "A Mathematical Framework for
Transformer Circuits"; called direct logit attribution by what grew out of it). Here each sum is
followed by a LayerNorm (section 3.1 of the paper: post-norm), which is no sum. It becomes one when
its standard deviation is taken as it was in this pass (as Kobayashi et al. 2021, arXiv:2109.07152,
do for BERT): what is left is to subtract a mean and to multiply. Two things follow:

- All parts together are the logit exactly; a part alone is what it would be if no standard
  deviation changed without it.
- Only the straight way counts. What a head says to the heads and networks above it is theirs.

A number added to all logits changes no probability. So without a rival it is the token's logit less
the mean of all logits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.attribution.gradients import output_position, rival
from transformer.analysis.attribution.norms import add_and_norm, attention, numbers, same_model
from transformer.hooks import Hooks
from transformer.inference.trace import Trace
from transformer.model import Transformer
from transformer.model.layers import FeedForward

Numbers = npt.NDArray[np.float64]
KINDS = {"decoder": "self_attn", "cross": "cross_attn"}
ROWS = 2**13
"""Most positions of one pass without a head, all heads together."""


@dataclass(frozen=True, eq=False)
class DirectLogits:
    """What adds up to a logit.

    Attributes:
        value: the logit less the mean of all, or less the rival's.
        table: a line for each "embedding", "position", head ("decoder", "cross"), "ffn" and "bias"
            (what the LayerNorms, W^O and the logits add); layer and head -1 where there is none;
            adds sums to `value`.
        without: the value when a head is taken away at this position alone, by kind.
    """

    value: float
    table: pd.DataFrame
    without: dict[str, Float[np.ndarray, "layers heads"]]

    def heads(self, kind: str) -> Float[np.ndarray, "layers heads"]:
        """What every head of a kind, "decoder" or "cross", adds on the straight way."""
        lines = self.table[self.table["part"] == kind]
        return np.asarray(lines["adds"].to_numpy(np.float64).reshape(self.without[kind].shape))

    def removed(self, kind: str) -> Float[np.ndarray, "layers heads"]:
        """What goes when the head is taken away, all else following."""
        return self.value - self.without[kind]

    @property
    def agreement(self) -> float:
        """Correlation of both over all heads, −1 to 1; NaN where one is the same for all."""
        one, other = (
            np.stack([of(kind) for kind in KINDS]).ravel() for of in (self.heads, self.removed)
        )
        if min(one.std(), other.std()) == 0:
            return float("nan")
        return float(np.corrcoef(one, other)[0, 1])


def direct_logits(
    model: Transformer, trace: Trace, position: int, against: int | str | None = None
) -> DirectLogits:
    """Of `trace.predicted_tokens[position]`.

    Args:
        trace: of this model without hooks, with all sites recorded.
        against: a rival, as `gradients.rival` takes one.

    Raises:
        ValueError: for a trace of another model, or a position or id that is not there.
        KeyError: for a trace without a site that is needed.
    """
    same_model(model, trace)
    chosen = trace.predicted_ids[output_position(trace, position)]
    other = None if against is None else rival(trace, position, against)
    up, constant = _direction(model, chosen, other)
    lines = [("bias", -1, -1, constant), *_down(model, trace, position, up)]
    table = pd.DataFrame(lines[::-1], columns=["part", "layer", "head", "adds"])
    return DirectLogits(float(table["adds"].sum()), table, _without(model, trace, position, other))


def _direction(model: Transformer, chosen: int, against: int | None) -> tuple[Numbers, float]:
    """What the last state is multiplied by, and what is added: embedding and output bias of the
    token, less the rival's or the mean of all."""
    table = numbers(model.embedding.weight).astype(np.float64)
    bias = model.output_bias
    biases = np.zeros(len(table)) if bias is None else numbers(bias).astype(np.float64)
    other, added = (
        (table.mean(axis=0), biases.mean())
        if against is None
        else (table[against], biases[against])
    )
    return table[chosen] - other, float(biases[chosen] - added)


def _down(
    model: Transformer, trace: Trace, position: int, up: Numbers
) -> Iterator[tuple[str, int, int, float]]:
    """(part, layer, head, what it adds), from the last layer down to the embedding. `up` is what
    the residual stream is multiplied by on its way to the logit, and changes at every LayerNorm."""
    for layer in reversed(range(model.config.n_layers)):
        name = f"decoder.layers.{layer}.ffn"
        up, added = _below_norm(model, trace, name, position, up)
        yield "bias", layer, -1, added
        module = model.get_submodule(name)
        assert isinstance(module, FeedForward)
        yield "ffn", layer, -1, float(up @ trace[f"{name}.hook_output"][position])
        for kind in ("cross", "decoder"):
            module, site = attention(model, trace, kind, layer)
            up, added = _below_norm(model, trace, site, position, up)
            if module.b_o is not None:
                added += float(up @ numbers(module.b_o))
            yield "bias", layer, -1, added
            through = (up @ numbers(module.w_o)).reshape(module.n_heads, -1)
            written = trace[f"{site}.hook_heads"][:, position]
            for head in reversed(range(module.n_heads)):
                yield kind, layer, head, float(through[head] @ written[head])
    yield "position", -1, -1, float(up @ trace["decoder.embed.hook_positions"][position])
    yield "embedding", -1, -1, float(up @ trace["decoder.embed.hook_tokens"][position])


def _below_norm(
    model: Transformer, trace: Trace, site: str, position: int, up: Numbers
) -> tuple[Numbers, float]:
    """The direction below the LayerNorm after `site`, its standard deviation taken as it was; and
    what its shift adds above."""
    norm = add_and_norm(model, site).norm
    total = trace[f"{site}_norm.hook_sum"][position].astype(np.float64)
    gain, shift = numbers(norm.weight), numbers(norm.bias)
    below = up * gain / np.sqrt(total.var() + norm.eps)
    return below - below.mean(), float(up @ shift)


@torch.inference_mode()
def _without(
    model: Transformer, trace: Trace, position: int, against: int | None
) -> dict[str, Float[np.ndarray, "layers heads"]]:
    """The value without each head at this position, many passes of the decoder side by side."""
    config, device = model.config, model.embedding.weight.device
    every = [(kind, n, h) for kind in KINDS for n in range(config.n_layers)
             for h in range(config.n_heads)]  # fmt: skip
    memory = torch.tensor(trace["encoder.hook_memory"].copy(), device=device)[None]
    tgt = torch.tensor([trace.tgt_ids[: position + 1]], device=device)
    found: list[float] = []
    step = max(1, ROWS // max(memory.shape[1], tgt.shape[1]))
    for first in range(0, len(every), step):
        some = every[first : first + step]
        states = model.decode(
            tgt.expand(len(some), -1), memory.expand(len(some), -1, -1), hooks=_off(some, position)
        )
        logits = model.project(states[:, -1:])[:, 0].double()
        other = logits.mean(dim=-1) if against is None else logits[:, against]
        found += (logits[:, trace.predicted_ids[position]] - other).tolist()
    values = np.array(found).reshape(len(KINDS), config.n_layers, config.n_heads)
    return dict(zip(KINDS, values, strict=True))


def _off(heads: list[tuple[str, int, int]], position: int) -> Hooks:
    """Head n writes nothing at the position in copy n."""
    sites: dict[str, list[tuple[int, int]]] = {}
    for copy, (kind, layer, head) in enumerate(heads):
        name = f"decoder.layers.{layer}.{KINDS[kind]}.hook_heads"
        sites.setdefault(name, []).append((copy, head))

    def silence(x: Tensor, name: str) -> Tensor:
        changed = x.clone()
        copies, numbers_of = zip(*sites[name], strict=True)
        changed[list(copies), list(numbers_of), position] = 0
        return changed

    return Hooks(dict.fromkeys(sites, silence))
