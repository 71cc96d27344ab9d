"""How far a signal gets in the layers of Table 1, read from gradients (section 4 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from transformer.cancellation import check_cancelled
from transformer.model.rivals import RIVALS, RivalConfig, stack

STACKS = (*RIVALS, "dilated")
"""What can be stacked: "convolutional" is contiguous, as in ConvS2S (Gehring et al. 2017), the
dilations of "dilated" grow as in ByteNet (Kalchbrenner et al. 2016)."""
MOST_LAYERS = 600
WIDTH = 4
"""d of the layers that are measured: who hears of whom does not depend on it."""


def receptive_field(
    name: str, n: int, n_layers: int, k: int = 3, r: int = 15
) -> Bool[Tensor, "layers n"]:
    """Which inputs the last position hears of, layer by layer.

    Row i is about a stack of i layers, row 0 about none: True where the gradient of the last
    position's output with respect to that input is not zero. One backward pass through a stack
    with random weights, in float64, so that a weak gradient is still not zero.

    Args:
        name: one of `STACKS`.
        n_layers: of the deepest stack.

    Raises:
        ValueError: for a name that there is not, or sizes that cannot be.
    """
    # From the top down: the layers above a state are a stack of their own, the smallest dilation
    # uppermost. Whether one position hears of another does not depend on their order.
    check_cancelled()
    layers = reversed(stack(name, RivalConfig(WIDTH, k=k, r=r), n_layers))
    with torch.enable_grad():
        states = [torch.randn(1, n, WIDTH, dtype=torch.float64, requires_grad=True)]
        for layer in layers:
            states.append(layer.double()(states[-1]))
        gradients = torch.autograd.grad(states[-1][0, -1].sum(), states)
    return torch.stack([gradient[0].abs().sum(-1) > 0 for gradient in reversed(gradients)])


def layers_needed(name: str, n: int, k: int = 3, r: int = 15) -> float:
    """The fewest layers after which the last of n positions hears of the first, measured. Infinite
    where no number of layers helps, NaN where `MOST_LAYERS` are not enough to tell."""
    if n == 1:
        return 0
    wanted = path_length(name, n, k, r)
    if wanted == math.inf:  # nothing arrives: a few layers show it as well as many
        return math.inf if not receptive_field(name, n, 3, k, r)[-1, 0] else math.nan
    # One layer more than the formula says: had it said too little, or too much, that would show.
    found = receptive_field(name, n, min(int(wanted) + 1, MOST_LAYERS), k, r)[:, 0].nonzero()
    return int(found[0]) if len(found) else math.nan


def path_length(name: str, n: int, k: int = 3, r: int = 15) -> float:
    """The same by a formula that leaves no constant out; O(·) in Table 1 does.

    A centred kernel or neighbourhood of width w carries (w−1)/2 positions a layer, towards each
    side: ⌈(n−1) / ((w−1)/2)⌉ layers, about 2n/w for the paper's n/k and n/r. Dilations 1, m, m² …
    with m = (k+1)/2 carry m^L − 1 in L layers: ⌈log_m n⌉ for the paper's log_k n, which is that of
    a kernel that looks to one side alone. A recurrent layer is one layer, whose n−1 steps follow
    each other; see `steps`. Raises ValueError for a name that there is not.
    """
    if name not in STACKS:
        raise ValueError(f"There is no stack of {name!r}; there is {', '.join(STACKS)}.")
    if n == 1:
        return 0
    if name in ("self-attention", "recurrent"):
        return 1
    width = r if name == "restricted" else k
    if width == 1:
        return math.inf
    if name != "dilated":
        return math.ceil((n - 1) / (width // 2))
    layers = 0
    while (k // 2 + 1) ** layers < n:
        layers += 1
    return layers


def chain(name: str, n: int, k: int = 3, r: int = 15) -> int:
    """Operations of one layer that wait for each other: the longest chain in its autograd graph.

    What Table 1 calls sequential operations. Each link is one tensor operation of PyTorch, however
    many numbers it makes at once: views and transpositions count too.
    """
    layer = RIVALS[name](RivalConfig(WIDTH, k=k, r=r))
    with torch.enable_grad():
        out = layer(torch.zeros(1, n, WIDTH, requires_grad=True))
    return _longest(out.grad_fn)


def steps(n: int) -> int:
    """Steps of a recurrent layer between the first input and the last output, from its graph. Its
    chain for n positions is that for one, and a product and a tanh for each step more."""
    return (chain("recurrent", n) - chain("recurrent", 1)) // 2


def lengths(sizes: Iterable[int], k: int = 3, r: int = 15) -> pd.DataFrame:
    """A row a stack and length n: columns "layer", "n", "measured" (layers until the last position
    hears of the first), "formula" (`path_length`), and "chain" (operations of one layer that wait
    for each other; NaN for "dilated", whose layers are convolutions)."""
    rows = [
        {
            "layer": name,
            "n": n,
            "measured": layers_needed(name, n, k, r),
            "formula": path_length(name, n, k, r),
            "chain": chain(name, n, k, r) if name in RIVALS else math.nan,
        }
        for name in STACKS
        for n in sizes
    ]
    return pd.DataFrame(rows).astype({"measured": float, "formula": float, "chain": float})


def _longest(end: Any) -> int:
    """Nodes on the longest way from `end` to a leaf; without recursion, which n steps exhaust."""
    depth: dict[Any, int] = {}
    waiting = [end]
    while waiting:
        node = waiting[-1]
        before = [back for back, _ in node.next_functions if back is not None]
        unknown = [back for back in before if back not in depth]
        if unknown:
            waiting += unknown
            continue
        waiting.pop()
        depth[node] = 0 if not before else 1 + max(depth[back] for back in before)
    return depth[end]
