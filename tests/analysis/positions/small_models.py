"""A model that has learned nothing, for tests of what it adds."""

from __future__ import annotations

import torch

from transformer import Translator
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary


def small(vocabulary: Vocabulary, **more: object) -> Translator:
    """A model that has learned nothing; its weights are seeded."""
    shape = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "vocab_size": len(vocabulary)}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(ModelConfig(**{**shape, **more}))  # type: ignore[arg-type]
    return Translator(model.eval(), vocabulary)
