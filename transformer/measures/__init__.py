"""Measures of a head, one module each, found automatically.

    measures.entropy(trace.weights("cross", layer=5))       # (n_heads,)
    measures.measure_heads(trace, "cross", layer=5)["previous"]  # any of measures.MEASURES, by name

A new measure is a module in this package with `MEASURES = (Measure(…),)`. The explorer, the
experiment on head roles, the command line's table and, if it has a claim, the experiment on
published findings read the registry. This package works on arrays and tokens; it must not import
torch, a model or a page.
"""

from transformer.measures.kinds import KINDS, AttentionKind, Head
from transformer.measures.measure import Measure, PublishedClaim, format_value
from transformer.measures.offsets import OffsetShare, offset, positional
from transformer.measures.registry import MEASURES, measure_heads
from transformer.measures.shape import confidence, distance, entropy
from transformer.measures.tokens import share

__all__ = [
    "KINDS",
    "MEASURES",
    "AttentionKind",
    "Head",
    "Measure",
    "OffsetShare",
    "PublishedClaim",
    "confidence",
    "distance",
    "entropy",
    "format_value",
    "measure_heads",
    "offset",
    "positional",
    "share",
]
