"""Table 1 of the paper (section 4): its formulas, and counted multiplications of real layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from transformer.model.table1_layers import TABLE1_LAYERS, LayerConfig


@dataclass(frozen=True)
class Table1Row:
    """One row of Table 1: its three formulas as text, and their values without O(·)'s constant.

    The functions take n, d, k and r.
    """

    complexity: str
    sequential: str
    path: str
    cost: Callable[[int, int, int, int], float]
    steps: Callable[[int, int, int, int], float]
    length: Callable[[int, int, int, int], float]


def _log(k: int, n: int) -> float:
    return math.log(n) / math.log(k) if k > 1 else math.inf


TABLE_1: Mapping[str, Table1Row] = MappingProxyType(
    {
        "self-attention": Table1Row(
            "n² · d", "1", "1",
            lambda n, d, k, r: n**2 * d, lambda n, d, k, r: 1, lambda n, d, k, r: 1,
        ),
        "recurrent": Table1Row(
            "n · d²", "n", "n",
            lambda n, d, k, r: n * d**2, lambda n, d, k, r: n, lambda n, d, k, r: n,
        ),
        "convolutional": Table1Row(
            "k · n · d²", "1", "log_k n",
            lambda n, d, k, r: k * n * d**2, lambda n, d, k, r: 1, lambda n, d, k, r: _log(k, n),
        ),
        "restricted": Table1Row(
            "r · n · d", "1", "n / r",
            # A neighbourhood is at most the whole sequence.
            lambda n, d, k, r: min(r, n) * n * d, lambda n, d, k, r: 1,
            lambda n, d, k, r: max(n / r, 1),
        ),
    }
)  # fmt: skip
"""Rows by layer name, as in `model.table1_layers.TABLE1_LAYERS`, in the paper's order."""


def separable_cost(n: int, d: int, k: int) -> int:
    """Return k·n·d + n·d² multiplications of a separable convolution (section 4, second-last
    paragraph).

    With k = n that equals self-attention plus a position-wise feed-forward layer.
    """
    return k * n * d + n * d**2


def evaluate_formulas(n: int, d: int, k: int, r: int) -> pd.DataFrame:
    """Evaluate Table 1: a row for each layer; columns "cost", "steps" (sequential) and "path"."""
    functions = [(order.cost, order.steps, order.length) for order in TABLE_1.values()]
    rows = [
        [float(function(n, d, k, r)) for function in layer_functions]
        for layer_functions in functions
    ]
    return pd.DataFrame(rows, pd.Index(list(TABLE_1), name="layer"), ["cost", "steps", "path"])


def equal_cost_length(first: str, second: str, d: int, k: int, r: int) -> float:
    """Return the length n at which two layers of Table 1 cost the same; NaN if there is none, or
    all.

    Each cost is c·n^p for sequences longer than r: the curves meet where n = (c₂/c₁)^(1/(p₁−p₂)).
    """
    long_length = 2 * r + 2
    costs = [TABLE_1[name].cost for name in (first, second)]
    powers = [
        round(math.log2(cost(2 * long_length, d, k, r) / cost(long_length, d, k, r)))
        for cost in costs
    ]
    scales = [
        cost(long_length, d, k, r) / long_length**p for cost, p in zip(costs, powers, strict=True)
    ]
    if powers[0] == powers[1]:
        return math.nan
    return float((scales[1] / scales[0]) ** (1 / (powers[0] - powers[1])))


@dataclass(frozen=True)
class MultiplicationCount:
    """Multiplications, each with its addition, of one forward pass of one sequence.

    Attributes:
        by_weight: number of multiplications with each weight of the layer; "" are products of
            positions with positions, which use no weight.
    """

    layer: str
    by_weight: Mapping[str, int]

    @property
    def total(self) -> int:
        """All multiplications of the layer."""
        return sum(self.by_weight.values())

    @property
    def mixing(self) -> int:
        """Multiplications that pass information between positions, which Table 1 counts."""
        return self.by_weight[MIXING[self.layer]]


MIXING = {
    "self-attention": "",
    "recurrent": "u",
    "convolutional": "convolution.weight",
    "restricted": "",
}
"""Each layer's weight that passes information from position to position (see
`MultiplicationCount.by_weight`)."""


def count_multiplications(
    layer: str, n: int, d: int, k: int = 3, r: int = 15
) -> MultiplicationCount:
    """Run a layer of `TABLE1_LAYERS` and count the multiplications of its matrix products.

    It counts the operations for which PyTorch's FLOP counter has a formula (matrix products and
    convolutions; two FLOPs are one multiplication with its addition), each assigned to the weight
    it uses. Softmax, tanh, scaling and biases, which grow with n² or n·d, are not counted. Raises
    ValueError for invalid sizes, or an unknown layer.
    """
    if layer not in TABLE1_LAYERS:
        raise ValueError(f"There is no layer {layer!r}; choose one of {', '.join(TABLE1_LAYERS)}.")
    module = TABLE1_LAYERS[layer](LayerConfig(d, k=k, r=r))
    with torch.no_grad(), _MultiplicationCounter(module) as products:
        module(torch.zeros(1, n, d))
    return MultiplicationCount(layer, MappingProxyType(products.by_weight))


class _MultiplicationCounter(TorchDispatchMode):
    """Counts matrix products by the weight they use."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._names = {_storage(weight): name for name, weight in layer.named_parameters()}
        self.by_weight: dict[str, int] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """The default, True, would import torch's compiler, which takes a second and 80 MB."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        flops = flop_registry.get(func._overloadpacket)
        if flops is not None:
            name = self._weight_name(args)
            n_products = flops(*args, **(kwargs or {}), out_val=out) // 2
            self.by_weight[name] = self.by_weight.get(name, 0) + n_products
        return out

    def _weight_name(self, args: Any) -> str:
        """Return the name of the weight among the factors; a tensor with one axis is a bias."""
        factors = [a for a in args if isinstance(a, torch.Tensor) and a.dim() > 1]
        return next((self._names[_storage(a)] for a in factors if _storage(a) in self._names), "")


def _storage(tensor: torch.Tensor) -> int:
    """Return an identifier that a weight shares with its views."""
    return int(tensor.untyped_storage()._cdata)
