"""A translator over the tiny model, and the model with a head taken out of its weights by hand."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch

from transformer import Translator
from transformer.analysis.interventions.switching import Head
from transformer.inference.trace import WEIGHTS
from transformer.model import Transformer


def with_gates(model: Transformer, gates: Mapping[Head, float]) -> Transformer:
    """A copy whose W^O takes each of these heads times its gate; nothing is hooked."""
    changed = copy.deepcopy(model)
    d_k = model.config.d_k
    for (kind, layer, head), gate in gates.items():
        module = changed.get_submodule(WEIGHTS[kind].format(layer).removesuffix(".hook_weights"))
        with torch.no_grad():
            module.w_o[:, head * d_k : (head + 1) * d_k] *= gate
    return changed


def logits(translator: Translator, text: str, target: list[int], **options: object) -> torch.Tensor:
    """One pass of the bare model over a pair, (tgt, vocab)."""
    config = translator.model.config
    src = torch.tensor([translator.vocabulary.encode(text)])
    tgt = torch.tensor([[config.bos_id, *target[:-1]]])
    with torch.no_grad():
        return translator.model(src, tgt, **options)[0]


def without_output(translator: Translator) -> Translator:
    """A copy whose heads write nothing at all."""
    model = copy.deepcopy(translator.model).requires_grad_(False)
    for name, parameter in model.named_parameters():
        if name.endswith("w_o"):
            parameter.zero_()
    return Translator(model, translator.vocabulary)
