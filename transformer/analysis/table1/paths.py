"""Path lengths of the layers of Table 1, read from gradients (section 4 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from transformer.cancellation import check_cancelled
from transformer.model.table1_layers import TABLE1_LAYERS, LayerConfig, layer_stack

STACKS = (*TABLE1_LAYERS, "dilated")
"""Layers that can be stacked: "convolutional" is contiguous, as in ConvS2S (Gehring et al. 2017),
the dilations of "dilated" grow as in ByteNet (Kalchbrenner et al. 2016)."""
MAX_LAYERS = 600
WIDTH = 4
"""d of the measured layers; which positions are connected does not depend on it."""


def receptive_field(
    name: str, n: int, n_layers: int, k: int = 3, r: int = 15
) -> Bool[Tensor, "layers n"]:
    """Return which inputs reach the last position, layer by layer.

    Row i is for a stack of i layers, row 0 for none: True where the gradient of the last position's
    output with respect to that input is not zero. One backward pass through a stack with random
    weights, in float64, so that weak gradients do not become zero.

    Args:
        name: one of `STACKS`.
        n_layers: of the deepest stack.

    Raises:
        ValueError: for an unknown name, or invalid sizes.
    """
    # From the top down: the layers above a state form a stack, with the smallest dilation on top.
    # Which positions are connected does not depend on the order of the layers.
    check_cancelled()
    layers = reversed(layer_stack(name, LayerConfig(WIDTH, k=k, r=r), n_layers))
    with torch.enable_grad():
        states = [torch.randn(1, n, WIDTH, dtype=torch.float64, requires_grad=True)]
        for layer in layers:
            states.append(layer.double()(states[-1]))
        gradients = torch.autograd.grad(states[-1][0, -1].sum(), states)
    return torch.stack([gradient[0].abs().sum(-1) > 0 for gradient in reversed(gradients)])


def layers_needed(name: str, n: int, k: int = 3, r: int = 15) -> float:
    """Return the fewest layers that connect the first of n positions to the last, measured.

    Infinite if no number of layers suffices, NaN if `MAX_LAYERS` are too few to tell.
    """
    if n == 1:
        return 0
    expected = path_length(name, n, k, r)
    if expected == math.inf:  # if there is no connection, a few layers show it
        return math.inf if not receptive_field(name, n, 3, k, r)[-1, 0] else math.nan
    # One layer more than by the formula, so that the measurement could contradict it.
    reaching = receptive_field(name, n, min(int(expected) + 1, MAX_LAYERS), k, r)[:, 0].nonzero()
    return int(reaching[0]) if len(reaching) else math.nan


def path_length(name: str, n: int, k: int = 3, r: int = 15) -> float:
    """Return the path length by an exact formula; O(·) in Table 1 omits constants.

    A centred kernel or neighbourhood of width w reaches (w−1)/2 positions per layer on each side:
    ⌈(n−1) / ((w−1)/2)⌉ layers, about 2n/w for the paper's n/k and n/r. Dilations 1, m, m² … with m
    = (k+1)/2 reach m^L − 1 in L layers: ⌈log_m n⌉ for the paper's log_k n, which is that of a
    one-sided kernel. A recurrent layer is one layer with n−1 sequential steps; see
    `recurrent_steps`. Raises ValueError for an unknown name.
    """
    if name not in STACKS:
        raise ValueError(f"There is no stack of {name!r}; choose one of {', '.join(STACKS)}.")
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


def sequential_operations(name: str, n: int, k: int = 3, r: int = 15) -> int:
    """Return the number of sequential operations of one layer: the longest chain in its autograd
    graph.

    Each is one tensor operation of PyTorch, however large; views and transpositions count too.
    """
    layer = TABLE1_LAYERS[name](LayerConfig(WIDTH, k=k, r=r))
    with torch.enable_grad():
        out = layer(torch.zeros(1, n, WIDTH, requires_grad=True))
    return _longest_path(out.grad_fn)


def recurrent_steps(n: int) -> int:
    """Return the steps of a recurrent layer between the first input and the last output.

    Read from its graph: each further position adds a product and a tanh to the chain for one.
    """
    return (sequential_operations("recurrent", n) - sequential_operations("recurrent", 1)) // 2


def path_length_table(sizes: Iterable[int], k: int = 3, r: int = 15) -> pd.DataFrame:
    """Return a row for each stack and length n.

    Columns: "layer", "n", "measured" (layers until the first position reaches the last), "formula"
    (`path_length`), and "chain" (sequential operations of one layer; NaN for "dilated", whose
    layers are convolutions).
    """
    rows = [
        {
            "layer": name,
            "n": n,
            "measured": layers_needed(name, n, k, r),
            "formula": path_length(name, n, k, r),
            "chain": sequential_operations(name, n, k, r) if name in TABLE1_LAYERS else math.nan,
        }
        for name in STACKS
        for n in sizes
    ]
    return pd.DataFrame(rows).astype({"measured": float, "formula": float, "chain": float})


def _longest_path(last_node: Any) -> int:
    """Return the number of edges on the longest path from `last_node` to a leaf, without recursion
    (n may be large)."""
    depth: dict[Any, int] = {}
    waiting = [last_node]
    while waiting:
        node = waiting[-1]
        parents = [parent for parent, _ in node.next_functions if parent is not None]
        unvisited = [parent for parent in parents if parent not in depth]
        if unvisited:
            waiting += unvisited
            continue
        waiting.pop()
        depth[node] = 0 if not parents else 1 + max(depth[parent] for parent in parents)
    return depth[last_node]
