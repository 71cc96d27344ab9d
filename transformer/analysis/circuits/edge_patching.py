"""Path patching of single edges: the true effect that edge attribution estimates.

    effects = patched_effects(model, pairs, edges)   # {edge: fall of the logit difference}

For an edge u → v the model runs on the clean example, except that v reads a residual stream in
which the output of u is that of the corrupted example (Wang et al. 2023, arXiv 2211.00593;
Goldowsky-Dill et al. 2023, arXiv 2304.05969). The stream is computed again from u on: its sublayers
keep their clean outputs, and the layer normalizations are applied exactly. v and all nodes after it
run again.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.analysis.circuits.example_pairs import ExamplePairs
from transformer.analysis.circuits.forward_pass import (
    Activation,
    Activations,
    norm,
    projected,
    record,
    sublayer_of,
)
from transformer.analysis.circuits.graph import OUTPUT, Edge, sublayers
from transformer.analysis.corpora.passes import Progress, no_progress
from transformer.hooks import HookFn, Hooks
from transformer.model import Transformer

MAX_POSITIONS = 2**13
"""Maximum number of positions of one pass, all edges together."""


@torch.no_grad()
def patched_effects(
    model: Transformer,
    pairs: ExamplePairs,
    edges: Sequence[Edge],
    *,
    fraction: float = 1.0,
    progress: Progress = no_progress,
) -> dict[Edge, float]:
    """Return by how much the metric falls when one edge carries the corrupted message.

    The mean over the pairs of the clean logit difference minus the patched one, for each edge.

    Args:
        model: in evaluation mode.
        fraction: of the way from the clean to the corrupted output; a small one gives the
            directional derivative as a finite difference.
    """
    pairs = pairs.to(model.embedding.weight.device)
    clean = record(model, pairs.src, pairs.tgt)
    corrupted = record(model, pairs.corrupted_src, pairs.corrupted_tgt)
    last_sublayer = sublayers(model.config, "decoder")[-1]
    before = pairs.logit_difference(
        model.project(clean.values[f"{last_sublayer.path}_norm.hook_output"])
    )
    longest = max(pairs.src.shape[1], pairs.tgt.shape[1])
    chunk_size = max(1, MAX_POSITIONS // (longest * len(pairs)))
    effects: dict[Edge, float] = {}
    for start in range(0, len(edges), chunk_size):
        progress(start / len(edges), "patching edges")
        chunk = edges[start : start + chunk_size]
        streams = [_patched_stream(model, clean, corrupted, edge, fraction) for edge in chunk]
        logits = _logits(model, pairs, chunk, streams)
        for edge, rows in zip(chunk, logits.split(len(pairs)), strict=True):
            effects[edge] = float((before - pairs.logit_difference(rows)).mean())
    return effects


def _patched_stream(
    model: Transformer,
    clean: Activations,
    corrupted: Activations,
    edge: Edge,
    fraction: float,
) -> Activation:
    """Return the clean residual stream that the downstream node reads, but for the upstream node's
    output."""
    upstream, downstream = edge.upstream, edge.downstream
    sequence = sublayers(model.config, upstream.stack)
    end: int | None = None
    if downstream != OUTPUT:
        end = sublayer_of(model, downstream).source_of(edge.input)[1]
    difference = (corrupted.contribution(upstream) - clean.contribution(upstream)) * fraction
    if upstream.kind in ("source", "target"):
        start, stream = 0, clean.embedding(upstream.stack) + difference
    else:
        own = sublayer_of(model, upstream)
        total = clean.stream_before(own) + clean.output(own) + difference
        start, stream = own.index + 1, norm(model, own)(total)
    for sublayer in sequence[start:end]:
        stream = norm(model, sublayer)(stream + clean.output(sublayer))
    return stream


def _logits(
    model: Transformer,
    pairs: ExamplePairs,
    edges: Sequence[Edge],
    streams: Sequence[Tensor],
) -> Tensor:
    """Return the logits, (rows, tgt, vocab), with edge n patched in the n-th copy of the pairs;
    `streams[n]` is (pairs, length, d_model)."""
    copies = len(edges)
    rows_of = [slice(n * len(pairs), (n + 1) * len(pairs)) for n in range(copies)]
    replaced: dict[str, list[tuple[slice, int | None, Tensor]]] = {}
    final: list[tuple[slice, Tensor]] = []
    for rows, edge, stream in zip(rows_of, edges, streams, strict=True):
        node = edge.downstream
        if node == OUTPUT:
            final.append((rows, stream))
            continue
        sublayer = sublayer_of(model, node)
        point, head, value = "output", None if node.kind == "ffn" else node.head, stream
        if node.kind == "ffn":
            value = model.get_submodule(sublayer.path)(stream)
        else:
            point, value = edge.input, projected(model, sublayer, stream, edge.input, node.head)
        replaced.setdefault(f"{sublayer.path}.hook_{point}", []).append((rows, head, value))

    def put(x: Tensor, name: str) -> Tensor:
        x = x.clone()
        for rows, head, value in replaced[name]:
            if head is None:
                x[rows] = value
            else:
                x[rows, head] = value
        return x

    hooks: dict[str, HookFn] = dict.fromkeys(replaced, put)
    if final:
        last_sublayer = sublayers(model.config, "decoder")[-1]
        hooks[f"{last_sublayer.path}_norm.hook_output"] = lambda x, _: _with_rows(x, final)
    src, tgt = pairs.src.repeat(copies, 1), pairs.tgt.repeat(copies, 1)
    return model(src, tgt, hooks=Hooks(hooks))  # type: ignore[no-any-return]


def _with_rows(x: Tensor, rows: Sequence[tuple[slice, Tensor]]) -> Tensor:
    x = x.clone()
    for place, value in rows:
        x[place] = value
    return x
