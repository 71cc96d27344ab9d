"""The tensors inside every box of the paper's Figure 1 for one sentence.

    translator = Translator.load("en-fr")
    trace = translator.trace("I am a student.")
    all_boxes = boxes(translator.model.config)   # every Box, in the order of computation
    box = opened_box(trace, translator, "encoder.0.self_attn.softmax", head=2)
    panel = box.panel("weights")                 # a table: values, rows, columns, symbol
    worked_steps(panel, 3, 1)                    # how that number is computed, lines of LaTeX
    source_code(box, "weights")                  # the Python functions that compute it
    program(box, "en-fr", "weights", 3, 1)       # a program that prints it

    shifted_targets(translator, "I am a student.", "Je suis étudiant.")  # the training task

A box is named by its location in the model: `encoder.embed.tokens`, `encoder.0.self_attn.query`,
`decoder.5.cross_attn.norm`, `encoder.memory`, `output.logits`. A panel is one `Variable`: a
function of `computations` that is called for the numbers and shown as their derivation. Where a
hook records the variable, the two are compared.
"""

from transformer.analysis.inside.figure_boxes import boxes
from transformer.analysis.inside.learning import shifted_targets
from transformer.analysis.inside.open_box import (
    OpenedBox,
    Panel,
    opened_box,
    program,
    source_code,
    worked_steps,
)
from transformer.analysis.inside.variables import Box

__all__ = [
    "Box",
    "OpenedBox",
    "Panel",
    "boxes",
    "opened_box",
    "program",
    "shifted_targets",
    "source_code",
    "worked_steps",
]
