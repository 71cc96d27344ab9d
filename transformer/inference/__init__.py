"""Translation and traces: decoding, and every tensor of one teacher-forced pass.

Import layer 3: uses the model and the vocabulary, and imports nothing of training or the pages.
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
