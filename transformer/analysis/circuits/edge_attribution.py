"""Edge attribution patching: the effect of every edge, estimated from one gradient.

    scores = edge_attribution(model, pairs)          # {edge: nats of logit difference}

Syed, Rager and Conmy 2023 (arXiv 2310.10348), after Nanda 2023: path patching replaces what one
node receives from another by its value for a corrupted example, and runs the model again for each
edge. To first order, the change of a metric is

    score(u → v) = (clean output of u - corrupted output of u) · ∂metric / ∂(input of v),

so one corrupted pass, one clean pass and one backward pass give all edges. Their models are
pre-norm, where the output of u reaches the input of v unchanged. This one is post-norm: between u
and v the residual stream is normalized after every sublayer. The gradient at the input of v is
therefore carried back through the layer normalizations between the two, with the outputs of the
sublayers between them held at their clean values, as path patching holds them. So two things are
linearized: the normalizations on the edge, and everything from v on.

The metric is the logit of the right token minus that of the corrupted example's
(`ExamplePairs.logit_difference`). A score above 0 means that the edge helps: with the corrupted
message, the metric would fall by that much.

Where a softmax is saturated, its gradient is nearly 0 although the effect may be large: scores of
edges to queries and keys are the least reliable. At the end of the shipped run toy-modular, many
scores even have the wrong sign (docs/measured.md). `edge_patching` measures the effect itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from transformer.analysis.circuits.example_pairs import ExamplePairs
from transformer.analysis.circuits.forward_pass import (
    Activations,
    attention,
    norm,
    record,
    recorded_names,
)
from transformer.analysis.circuits.graph import (
    EMBEDDINGS,
    OUTPUT,
    CircuitNode,
    Edge,
    Input,
    Stack,
    Sublayer,
    edge_count,
    sublayers,
)
from transformer.hooks import Hooks
from transformer.model import Transformer

MAX_EDGES = 8_000
"""Maximum number of edges: 4 layers of 8 heads have 5,965."""
MAX_VALUES = 2**26
"""Maximum number of values in the gradients of all inputs together (256 MB in float32)."""

Gradients = Float[Tensor, "inputs pairs length d_model"]


def edge_attribution(model: Transformer, pairs: ExamplePairs) -> dict[Edge, float]:
    """Return the score of every edge: the mean over the pairs, a difference of logits.

    Args:
        model: in evaluation mode.

    Raises:
        ValueError: for a model with too many edges, or pairs that are too long.
    """
    check_size(model, pairs)
    pairs = pairs.to(model.embedding.weight.device)
    return dict(_scores(model, pairs))


def check_size(model: Transformer, pairs: ExamplePairs | None = None) -> None:
    """Raise ValueError for a model with too many edges, or pairs that need too much memory."""
    config = model.config
    if (count := edge_count(config)) > MAX_EDGES:
        raise ValueError(
            f"the model has {config.n_layers} layers of {config.n_heads} heads and so {count:,} "
            f"edges; edge attribution takes at most {MAX_EDGES:,}, such as 4 layers of 8 heads"
        )
    if pairs is None:
        return
    inputs = 3 * config.n_heads * config.n_layers * 2
    length = max(pairs.src.shape[1], pairs.tgt.shape[1])
    if inputs * pairs.src.shape[0] * length * config.d_model > MAX_VALUES:
        raise ValueError(
            f"{len(pairs)} pairs of {length} tokens are too much for this model; take fewer pairs"
        )


def _scores(model: Transformer, pairs: ExamplePairs) -> Iterator[tuple[Edge, float]]:
    clean, gradients = _pass_with_gradients(model, pairs)
    corrupted = record(model, pairs.corrupted_src, pairs.corrupted_tgt)
    for stack, embedding in EMBEDDINGS.items():
        sequence = sublayers(model.config, stack)
        for index, inputs, vectors in _readers(model, clean, gradients, stack):
            for sublayer in reversed(sequence[:index]):
                vectors = _through_norm(model, clean, sublayer, vectors)
                differences = clean.contributions(sublayer) - corrupted.contributions(sublayer)
                table = torch.einsum("nbtd,mbtd->mn", vectors, differences) / len(pairs)
                for node, row in zip(sublayer.nodes(model.config), table.tolist(), strict=True):
                    yield from zip(_edges(node, inputs), row, strict=True)
            difference = clean.embedding(stack) - corrupted.embedding(stack)
            row = (torch.einsum("nbtd,btd->n", vectors, difference) / len(pairs)).tolist()
            yield from zip(_edges(embedding, inputs), row, strict=True)


Reader = tuple[CircuitNode, Input]


def _edges(upstream: CircuitNode, inputs: list[Reader]) -> list[Edge]:
    return [Edge(upstream, node, name) for node, name in inputs]


def _pass_with_gradients(
    model: Transformer, pairs: ExamplePairs
) -> tuple[Activations, dict[str, Tensor]]:
    """Run the clean examples; return the activations, and the gradients of the summed metric at
    queries, keys, values, outputs of feed-forward networks and the last decoder state."""
    values: dict[str, Tensor] = {}
    embeddings = {f"{stack}.embed.hook_output" for stack in EMBEDDINGS}
    points = ("query", "key", "value")
    with_gradient = [f"{OUTPUT.stack}.layers.{model.config.n_layers - 1}.ffn_norm.hook_output"]
    for stack in EMBEDDINGS:
        for sublayer in sublayers(model.config, stack):
            hooked = ["output"] if sublayer.kind == "ffn" else points
            with_gradient += [f"{sublayer.path}.hook_{point}" for point in hooked]

    def keep(x: Tensor, name: str) -> Tensor:
        if name in embeddings:
            x = x.detach().requires_grad_()
        values[name] = x
        return x

    hooks = Hooks(dict.fromkeys([*recorded_names(model), *with_gradient], keep))
    with torch.enable_grad():
        metric = pairs.logit_difference(model(pairs.src, pairs.tgt, hooks=hooks)).sum()
        # Gradients of activations only: the weights are shared and must not get a .grad.
        gradients = torch.autograd.grad(metric, [values[name] for name in with_gradient])
    recorded = {name: value.detach() for name, value in values.items()}
    return Activations(model, recorded), dict(zip(with_gradient, gradients, strict=True))


def _readers(
    model: Transformer, clean: Activations, gradients: Mapping[str, Tensor], stack: Stack
) -> Iterator[tuple[int, list[Reader], Gradients]]:
    """Yield the inputs that read the residual stream of `stack`, grouped by the number of sublayers
    before them, with the gradient at each."""
    sequence = sublayers(model.config, stack)
    for sublayer in sequence:
        names = [name for name in sublayer.inputs() if sublayer.source_of(name)[0] == stack]
        yield sublayer.index, *_inputs(model, clean, gradients, sublayer, names)
    end = len(sequence)
    if stack == "encoder":
        for sublayer in sublayers(model.config, "decoder"):
            if sublayer.kind == "cross":
                yield end, *_inputs(model, clean, gradients, sublayer, ["key", "value"])
    else:
        last_gradient = gradients[f"{sequence[-1].path}_norm.hook_output"]
        yield end, [(OUTPUT, "all")], last_gradient[None]


def _inputs(
    model: Transformer,
    clean: Activations,
    gradients: Mapping[str, Tensor],
    sublayer: Sublayer,
    names: Sequence[Input],
) -> tuple[list[Reader], Gradients]:
    """Return the inputs of one sublayer's nodes and the gradient at each."""
    if sublayer.kind == "ffn":
        feed_forward = model.get_submodule(sublayer.path)
        x = clean.stream_before(sublayer).requires_grad_()
        with torch.enable_grad():
            output = feed_forward(x)
            gradient = torch.autograd.grad(output, x, gradients[f"{sublayer.path}.hook_output"])
        return [(sublayer.nodes(model.config)[0], "all")], gradient[0][None]
    module = attention(model, sublayer)
    matrices = {"query": module.w_q, "key": module.w_k, "value": module.w_v}
    readers: list[Reader] = []
    parts = []
    for name in names:
        by_head = gradients[f"{sublayer.path}.hook_{name}"]
        weights = matrices[name].detach().unflatten(0, (by_head.shape[1], -1))
        parts.append(torch.einsum("bhtk,hkd->hbtd", by_head, weights))
        readers += [(node, name) for node in sublayer.nodes(model.config)]
    return readers, torch.cat(parts)


def _through_norm(
    model: Transformer, clean: Activations, sublayer: Sublayer, vectors: Gradients
) -> Gradients:
    """Carry gradients from the stream after a sublayer to the sum before its normalization, which
    is the gradient at the sublayer's output and at the stream before it alike."""
    total = clean.values[f"{sublayer.path}_norm.hook_sum"]
    with torch.enable_grad():
        x = total.expand(len(vectors), *total.shape).clone().requires_grad_()
        return torch.autograd.grad(norm(model, sublayer)(x), x, vectors)[0]
