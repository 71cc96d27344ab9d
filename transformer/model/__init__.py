"""The Transformer of "Attention Is All You Need", every box of its Figure 1 a class."""

from transformer.model.transformer import Transformer

__all__ = ["Transformer"]
