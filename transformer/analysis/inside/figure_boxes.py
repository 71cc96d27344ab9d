"""The boxes of the paper's Figure 1 in the order in which a sentence passes through them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from transformer.analysis.inside.attention import attention
from transformer.analysis.inside.embedding import embedding, memory
from transformer.analysis.inside.feed_forward import feed_forward
from transformer.analysis.inside.prediction import prediction
from transformer.analysis.inside.variables import Block, Box
from transformer.config import ModelConfig, did_you_mean


@lru_cache(maxsize=32)
def boxes(config: ModelConfig) -> tuple[Box, ...]:
    """Return every box, encoder first, then decoder and output."""
    return tuple(_boxes(config))


def box_named(config: ModelConfig, name: str) -> Box:
    """Return a box by name. Raises ValueError for an unknown name, suggesting similar ones."""
    by_name = {box.name: box for box in boxes(config)}
    if name not in by_name:
        raise ValueError(f"the model has no box {name!r}{did_you_mean(name, by_name)}")
    return by_name[name]


def _boxes(config: ModelConfig) -> Iterator[Box]:
    for stack, attentions in (
        ("encoder", ["self_attn"]),
        ("decoder", ["self_attn", "cross_attn"]),
    ):
        yield from embedding(Block(config, stack, None, "embed"))
        for layer in range(config.n_layers):
            for block in attentions:
                yield from attention(Block(config, stack, layer, block))
            yield from feed_forward(Block(config, stack, layer, "ffn"))
        if stack == "encoder":
            yield from memory(Block(config, stack, None, "memory"))
    yield from prediction(Block(config, "output", None, "output"))
