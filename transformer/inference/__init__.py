"""Translation and traces: decoding, and every tensor of one teacher-forced pass.

Floor 3: knows the model and the vocabulary, no training, no figures, no page.
"""

from transformer.inference.options import Decoding
from transformer.inference.results import BeamNode, BeamTree, Candidate, Step, Translation
from transformer.inference.trace import Trace
from transformer.inference.translator import Translator

__all__ = [
    "BeamNode",
    "BeamTree",
    "Candidate",
    "Decoding",
    "Step",
    "Trace",
    "Translation",
    "Translator",
]
