"""The fewest heads without which one sentence is translated differently, by a short search."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.analysis.corpora import Corpus
from transformer.analysis.importance.by_gradient import gradient_importances
from transformer.analysis.interventions.switching import switched_off
from transformer.inference.translator import Translator
from transformer.measures.kinds import Head

MAX_SINGLE_HEADS = 6
"""Number of heads to try one by one before whole layers."""
MAX_EXTRA_PIECES = 12
"""A translation without heads may be longer than the original by this number of pieces."""


@dataclass(frozen=True)
class FewestHeads:
    """The result of the search.

    Attributes:
        heads: the heads to switch off; all cross-attention heads if nothing less changes the text.
        translation: the translation without them. changed: whether it is another one.
    """

    heads: tuple[Head, ...]
    translation: str
    changed: bool


def fewest_heads(translator: Translator, text: str) -> FewestHeads:
    """Search for the fewest heads that change the translation when they are switched off.

    Tries the most important cross-attention heads by gradient one by one, then every layer of each
    kind, the last layer first, then all of cross-attention.

    Raises:
        ValueError: if the text cannot be translated.
    """
    config = translator.model.config
    importance = gradient_importances(translator, Corpus.of_text(text))
    by_importance = reversed(importance["sentence"].order())
    singles = [head for head in by_importance if head[0] == "cross"][:MAX_SINGLE_HEADS]
    layers, numbers = range(config.n_layers), range(config.n_heads)
    candidates: list[list[Head]] = [[head] for head in singles]
    for kind in ("cross", "decoder", "encoder"):
        candidates += [[(kind, n, head) for head in numbers] for n in reversed(layers)]
    candidates.append([("cross", n, head) for n in layers for head in numbers])
    original = translator.translate(text, candidates=1)
    max_len = len(original.ids) + MAX_EXTRA_PIECES
    for heads in candidates:
        hooks = switched_off(config, heads)
        altered = translator.translate(text, hooks=hooks, candidates=1, max_len=max_len).text
        if altered != original.text:
            break
    return FewestHeads(tuple(heads), altered, altered != original.text)
