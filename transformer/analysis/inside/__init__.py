"""The tensors inside every box of the paper's Figure 1 for one sentence.

    translator = Translator.load("en-fr")
    trace = translator.trace("I am a student.")
    walk = boxes(translator.model.config)                  # every Box, in the order of the walk
    found = opened(trace, translator, "encoder.0.self_attn.softmax", head=2)
    panel = found.panel("weights")                         # a table: values, rows, columns, symbol
    worked(panel, 3, 1)                                    # that number by hand, lines of LaTeX
    print(snippet(found, "en-fr", "weights", 3, 1))  # a program that prints it

    shifted(translator, "I am a student.", "Je suis étudiant.")  # what training would ask

A box is named by its place in the model: `encoder.embed.tokens`, `encoder.0.self_attn.query`,
`decoder.5.cross_attn.norm`, `encoder.memory`, `output.logits`. Every number of a panel is computed
from the one trace and the weights, and is held against the hook that follows it. This room may not
show a number that no weight, token or formula leads to.
"""

from transformer.analysis.inside.asides import Batched, Convolved, batched, convolved
from transformer.analysis.inside.learning import shifted
from transformer.analysis.inside.open_box import opened, snippet
from transformer.analysis.inside.panels import Opened, Panel, worked
from transformer.analysis.inside.walk import Box, boxes

__all__ = [
    "Batched",
    "Box",
    "Convolved",
    "Opened",
    "Panel",
    "batched",
    "boxes",
    "convolved",
    "opened",
    "shifted",
    "snippet",
    "worked",
]
