"""A small English→French grammar of our own, with gold word alignments."""

from transformer.text.grammar.phrases import links
from transformer.text.grammar.sentences import count_sentences, kinds

__all__ = ["count_sentences", "kinds", "links"]
