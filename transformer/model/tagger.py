"""A stack of one kind of layer of Table 1, or a gated one, with a prediction at every position."""

from __future__ import annotations

import math
from dataclasses import replace

from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer.config import ModelConfig
from transformer.model.layers import AddAndNorm, AddPositions, FeedForward
from transformer.model.shapes import shapes_only
from transformer.model.table1_layers import GATED, LayerConfig, layer_stack


class Tagger(nn.Module):
    """Embedding and positions, blocks of a layer and an FFN, then logits at each position.

    A block is the paper's encoder layer (section 3.1) with another layer instead of self-attention;
    residuals, LayerNorm and feed-forward network are those of `layers.py`.
    """

    def __init__(self, layer: str, config: ModelConfig, tags: int, *, k: int = 3, r: int = 5):
        """
        Args:
            layer: "lstm", "gru", or a name that `layer_stack` accepts; `k` and `r` are the
                sizes of its kernel and neighbourhood.
            config: width, depth, heads, d_ff and vocabulary.
            tags: number of different tags, the width of the logits.
        """
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.embed = AddPositions(config)
        sizes = LayerConfig(config.d_model, k=k, r=r, n_heads=config.n_heads)
        self.mixers = nn.ModuleList(_mixers(layer, sizes, config.n_layers))
        self.mixer_norms = nn.ModuleList(AddAndNorm(config) for _ in self.mixers)
        self.ffns = nn.ModuleList(FeedForward(config) for _ in self.mixers)
        self.ffn_norms = nn.ModuleList(AddAndNorm(config) for _ in self.mixers)
        self.output = nn.Linear(config.d_model, tags)

    def forward(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length tags"]:
        x = self.embed(self.embedding(ids) * self.config.d_model**0.5)
        for mixer, mixer_norm, ffn, ffn_norm in zip(
            self.mixers, self.mixer_norms, self.ffns, self.ffn_norms, strict=True
        ):
            x = mixer_norm(x, mixer(x))
            x = ffn_norm(x, ffn(x))
        return self.output(x)  # type: ignore[no-any-return]


def _mixers(layer: str, sizes: LayerConfig, n_layers: int) -> list[nn.Module]:
    if layer in GATED:
        return [GATED[layer](sizes) for _ in range(n_layers)]
    return layer_stack(layer, sizes, n_layers)


def count_weights(layer: str, config: ModelConfig, tags: int, *, k: int = 3, r: int = 5) -> int:
    """Return the number of weights of a `Tagger`, without allocating them."""
    with shapes_only():
        model = Tagger(layer, config, tags, k=k, r=r)
    return sum(weight.numel() for weight in model.parameters())


def match_parameters(
    layer: str, config: ModelConfig, tags: int, weights: int, *, k: int = 3, r: int = 5
) -> ModelConfig:
    """Return `config` with the d_ff for which the number of weights is nearest to `weights`. Raises
    ValueError if the layer alone has more."""
    min_weights = count_weights(layer, replace(config, d_ff=1), tags, k=k, r=r)
    weights_per_unit = config.n_layers * (
        2 * config.d_model + 1
    )  # weights of one more unit in every FFN
    d_ff = 1 + round((weights - min_weights) / weights_per_unit)
    if d_ff < 1:
        raise ValueError(
            f"{layer} has {min_weights:,} weights without an FFN, more than {weights:,}"
        )
    return replace(config, d_ff=d_ff)


def receptive_field(layer: str, n_layers: int, *, k: int = 3, r: int = 5) -> float:
    """Return the largest distance to the right over which a stack can carry information.

    It is (k−1)/2 per layer for a kernel and (r−1)/2 per layer for a neighbourhood; m^L − 1 for L
    dilated layers with m = (k+1)/2; infinite for layers that connect all positions.
    """
    if layer == "convolutional":
        return n_layers * (k // 2)
    if layer == "restricted":
        return n_layers * (r // 2)
    if layer == "dilated":
        return float((k // 2 + 1) ** n_layers - 1)
    return math.inf
