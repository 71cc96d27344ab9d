"""Models in which no term of a sum is zero by chance, and traces with hand-made weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

import pytest
import torch
from torch import Tensor

from transformer.analysis.corpora import Corpus, Sentence
from transformer.config import ModelConfig
from transformer.hooks import HookFn, Hooks
from transformer.inference import Translator
from transformer.inference.trace import WEIGHTS, Trace
from transformer.measures.kinds import Head
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXTS = ("The baker paints a boat.", "A pilot finds bread.", "She hides the lamp again.")
TARGETS = ("Le boulanger peint un bateau.", "Un pilote trouve du pain.", "Elle cache la lampe.")
TEXT, TARGET = "The baker sells the lamp again.", "Le boulanger vend la lampe."
KINDS = tuple(WEIGHTS)
THREE_PAIRS = Corpus(
    "three",
    (
        Sentence("She paints.", "Elle peint."),
        Sentence("My aunt hides the lamp today.", "Ma tante cache la lampe aujourd'hui."),
        Sentence("A pilot sells books.", "Un pilote vend des livres."),
    ),
)
MARIAN = {"biases": True, "activation": "swish", "output_bias": True, "scale_embedding": False}
"""The options of Marian models that the paper's model does not have."""


def randomized(model: Transformer) -> Transformer:
    """Return a copy whose LayerNorms scale and shift, and whose biases, if any, are not zero."""
    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.uniform_(0.3, 1.7, generator=generator)
            elif name.endswith(("bias", "b_qkv", "b_o")):
                parameter.normal_(0, 0.3, generator=generator)
    return model.eval()


def new_model(vocabulary: Vocabulary, seed: int = 3, **changes: object) -> Translator:
    """Return a new randomized `tiny` model with seeded weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = ModelConfig.preset("tiny", vocab_size=len(vocabulary), **changes)
        return Translator(randomized(Transformer(config)), vocabulary)


def with_gates(model: Transformer, gates: Mapping[Head, float]) -> Transformer:
    """Return a copy whose W^O multiplies each of these heads by its gate, without hooks."""
    changed = copy.deepcopy(model)
    d_k = model.config.d_k
    for (kind, layer, head), gate in gates.items():
        module = changed.get_submodule(WEIGHTS[kind].format(layer).removesuffix(".hook_weights"))
        with torch.no_grad():
            module.w_o[:, head * d_k : (head + 1) * d_k] *= gate
    return changed


def logits(translator: Translator, text: str, target: list[int], **options: object) -> torch.Tensor:
    """Return the logits of one pass of the bare model over a pair, (tgt, vocab)."""
    config = translator.model.config
    src = torch.tensor([translator.vocabulary.encode(text)])
    tgt = torch.tensor([[config.bos_id, *target[:-1]]])
    with torch.no_grad():
        return translator.model(src, tgt, **options)[0]


def trace_logits(
    model: Transformer, trace: Trace, hooks: Mapping[str, HookFn] | None = None
) -> Tensor:
    """Return the logits of one pass over the ids of a trace, (tgt, vocab)."""
    src, tgt = torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids])
    with torch.no_grad():
        return model(src, tgt, hooks=Hooks(hooks or {}))[0]


def without_output(translator: Translator) -> Translator:
    """Return a copy whose heads write nothing."""
    model = copy.deepcopy(translator.model).requires_grad_(False)
    for name, parameter in model.named_parameters():
        if name.endswith("w_o"):
            parameter.zero_()
    return Translator(model, translator.vocabulary)


def shift_model(vocabulary: Vocabulary, offsets: tuple[int, ...]) -> Translator:
    """Return one encoder layer in which head h attends `offsets[h]` positions away.

    A query points at the position `offset` further on, by the rotation of the sinusoids in section
    3.5 of the paper, PE(pos + k) = M_k PE(pos), times a large number; W^Q and W^K are built from
    it. Token embeddings are 0, so that a vector is its position only.
    """
    d_k = 32
    config = ModelConfig(
        vocab_size=len(vocabulary), d_model=d_k * len(offsets), n_heads=len(offsets), n_layers=1
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Transformer(config).eval().requires_grad_(False)
    model.embedding.weight.zero_()
    attention = model.encoder.layers[0].self_attn
    attention.w_qkv.zero_()
    pairs = torch.arange(d_k // 2)
    rates = torch.exp(-2 * pairs * torch.log(torch.tensor(10000.0)) / config.d_model)
    for head, offset in enumerate(offsets):
        head_slice = slice(head * d_k, (head + 1) * d_k)
        rotation = torch.zeros(d_k, config.d_model)
        sin, cos = torch.sin(rates * offset), torch.cos(rates * offset)
        rotation[2 * pairs, 2 * pairs], rotation[2 * pairs, 2 * pairs + 1] = cos, sin
        rotation[2 * pairs + 1, 2 * pairs], rotation[2 * pairs + 1, 2 * pairs + 1] = -sin, cos
        attention.w_q[head_slice] = 100 * rotation
        attention.w_k[head_slice] = torch.eye(d_k, config.d_model)
    return Translator(model, vocabulary)


def small_translator(vocabulary: Vocabulary, **more: object) -> Translator:
    """Return an untrained model with seeded weights."""
    shape = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 16, "vocab_size": len(vocabulary)}
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Transformer(ModelConfig(**{**shape, **more}))  # type: ignore[arg-type]
    return Translator(model.eval(), vocabulary)


def assert_progress_and_cancelling(measure: Callable[..., object]) -> list[float]:
    """Check that `measure` reports shares rising to 1, and stops when its callback raises."""
    shares: list[float] = []
    measure(progress=lambda share, stage: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1

    def stop(share: float, stage: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure(progress=stop)
    return shares
