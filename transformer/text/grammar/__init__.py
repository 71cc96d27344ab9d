"""A small English→French grammar of our own, with gold word alignments, and who depends on whom."""

from transformer.text.grammar.clauses import RELATIONS, Dependency, dependencies
from transformer.text.grammar.phrases import links
from transformer.text.grammar.sentences import count_sentences, kinds

__all__ = ["RELATIONS", "Dependency", "count_sentences", "dependencies", "kinds", "links"]
