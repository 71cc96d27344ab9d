"""The parts that sum to a residual stream, to the queries and keys made from it, and to a score.

    parts = residual_parts(model, trace, "decoder")      # the decoder's last states
    table = cell_parts(model, trace, "cross", 3, 1, query=4, key=2)
    table["score"].sum()                                 # hook_scores at this cell

A state of the residual stream is the embedding, the position and the outputs of all sublayers so
far, each divided by the standard deviation of every LayerNorm that it has passed (section 3.1 of
the paper: post-norm). With the standard deviations of this pass held fixed, a LayerNorm only
subtracts a mean and multiplies (Kobayashi et al. 2021, https://arxiv.org/abs/2109.07152), so the
parts can be carried through it one by one. A score q·k/√d_k is then the sum over all pairs of a
part of the query and a part of the key (Elhage et al. 2021, "A Mathematical Framework for
Transformer Circuits", section "QK circuits").
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from jaxtyping import Float

from transformer.analysis.attribution.norms import add_and_norm, check_same_model, to_array
from transformer.inference.trace import Trace
from transformer.measures.head_codes import write_heads
from transformer.measures.kinds import AttentionKind, checked_kind
from transformer.measures.registry import SITES
from transformer.model import Transformer
from transformer.model.attention import MultiHeadAttention

Stack = Literal["encoder", "decoder"]
Numbers = npt.NDArray[np.float64]
ATTENTION: dict[tuple[Stack, str], AttentionKind] = {
    ("encoder", "self_attn"): "encoder",
    ("decoder", "self_attn"): "decoder",
    ("decoder", "cross_attn"): "cross",
}
"""Kind of attention of each sublayer that is one."""


@dataclass(frozen=True)
class Part:
    """What a part is.

    Attributes:
        part: "embedding", "position", a kind of attention for one head, "ffn", or "bias": what the
            LayerNorms, W^O and the projections add to every position.
        layer, head: counted from 0; -1 for parts without one.
    """

    part: str
    layer: int = -1
    head: int = -1

    @property
    def name(self) -> str:
        """The short name: "embedding", "position", "bias", "ffn 2", or a head's code, "c2.1"."""
        if self.part == "ffn":
            return f"ffn {self.layer}"
        if self.head < 0:
            return self.part
        return write_heads([(checked_kind(self.part), self.layer, self.head)])


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of vectors, whose sum is the vector.

    Attributes:
        parts: what they are, from the embedding up; the bias is the last.
        vectors: (parts, length, d_model) of a residual stream, or (parts, heads, length, d_k).
    """

    parts: tuple[Part, ...]
    vectors: Numbers

    @property
    def names(self) -> list[str]:
        """`Part.name` of every part."""
        return [part.name for part in self.parts]


def residual_parts(model: Transformer, trace: Trace, stack: Stack, before: str = "") -> Parts:
    """Return the parts of a stack's residual stream, at all positions.

    Args:
        trace: of this model without hooks, with all sites recorded.
        before: the sublayer that reads the stream, such as "decoder.layers.2.cross_attn"; by
            default the stream after the last layer.

    Raises:
        ValueError: for a trace of another model, or a sublayer that the stack does not have.
        KeyError: for a trace without a site that is needed.
    """
    check_same_model(model, trace)
    sites = [*_sublayers(model, stack)]
    if before and before not in (names := [f"{stack}.layers.{n}.{name}" for n, name in sites]):
        raise ValueError(f"there is no {before!r}; the sublayers are {', '.join(names)}")
    tokens, positions = (
        trace[f"{stack}.embed.hook_{site}"].astype(np.float64) for site in ("tokens", "positions")
    )
    parts = [Part("embedding"), Part("position")]
    vectors = np.stack([tokens, np.broadcast_to(positions, tokens.shape)])
    bias = np.zeros(model.config.d_model)
    for layer, name in sites:
        site = f"{stack}.layers.{layer}.{name}"
        if site == before:
            break
        if kind := ATTENTION.get((stack, name)):
            added, added_bias = _head_outputs(model, trace, kind, layer)
            parts += [Part(kind, layer, head) for head in range(len(added))]
            bias = bias + added_bias
        else:
            added = trace[f"{site}.hook_output"].astype(np.float64)[None]
            parts.append(Part("ffn", layer))
        vectors, bias = _through_norm(model, trace, site, np.concatenate([vectors, added]), bias)
    all_vectors = [vectors, np.broadcast_to(bias, vectors.shape[1:])[None]]
    return Parts((*parts, Part("bias")), np.concatenate(all_vectors))


def query_and_key_parts(
    model: Transformer, trace: Trace, kind: AttentionKind, layer: int
) -> tuple[Parts, Parts]:
    """Return the parts of the queries and of the keys of a layer, (parts, heads, length, d_k).

    Raises the errors of `residual_parts`, and ValueError for a kind or layer that does not exist.
    """
    module, site = _attention(model, kind, layer)
    streams = [residual_parts(model, trace, "encoder" if kind == "encoder" else "decoder", site)]
    streams.append(residual_parts(model, trace, "encoder") if kind == "cross" else streams[0])
    sides: list[Parts] = []
    for stream, weight, name in zip(streams, (module.w_q, module.w_k), ("q", "k"), strict=True):
        projected = stream.vectors @ to_array(weight).astype(np.float64).T
        projected[-1] += to_array(module.bias("q" if name == "q" else "k"))
        n_parts, length, _ = projected.shape
        vectors = projected.reshape(n_parts, length, module.n_heads, -1).transpose(0, 2, 1, 3)
        sides.append(Parts(stream.parts, vectors))
    return sides[0], sides[1]


def cell_parts(
    model: Transformer,
    trace: Trace,
    kind: AttentionKind,
    layer: int,
    head: int,
    query: int,
    key: int,
) -> pd.DataFrame:
    """Split the score of one cell, before mask and softmax, over the parts of query and key.

    Returns:
        A row for each pair, the largest absolute score first: query_part, key_part (`Part.name`)
        and score; the scores sum to `hook_scores[head, query, key]`.

    Raises:
        ValueError: for a head or cell that does not exist, for additive scores (v·tanh(q + k) is
            not a sum of parts), for a trace with other scores, made with hooks, and the errors of
            `residual_parts`.
    """
    if model.config.score == "additive":
        raise ValueError(
            "Additive scores cannot be split: unlike a dot product, v·tanh(q + k) is not a sum "
            "of parts."
        )
    queries, keys = query_and_key_parts(model, trace, kind, layer)
    module, _ = _attention(model, kind, layer)
    _, n_heads, n_queries, _ = queries.vectors.shape
    for name, names, index, count in (
        ("head", "heads", head, n_heads),
        ("query", "queries", query, n_queries),
        ("key", "keys", key, keys.vectors.shape[2]),
    ):
        if not 0 <= operator.index(index) < count:
            raise ValueError(f"there is no {name} {index}; the {names} are 0 to {count - 1}")
    scores = module.score.scale * queries.vectors[:, head, query] @ keys.vectors[:, head, key].T
    expected = trace[f"{SITES[kind].format(layer)}hook_scores"][head, query, key]
    check_sum(float(scores.sum()), float(expected))
    rows, columns = np.indices(scores.shape).reshape(2, -1)
    table = pd.DataFrame(
        {
            "query_part": np.array(queries.names, dtype=object)[rows],
            "key_part": np.array(keys.names, dtype=object)[columns],
            "score": scores.ravel(),
        }
    )
    order = table["score"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True)


def check_sum(total: float, expected: float) -> None:
    """Raise ValueError if parts do not sum to what the trace has."""
    if not np.isclose(total, expected, rtol=1e-3, atol=1e-3):
        raise ValueError(
            f"the parts sum to {total:.4f}, but the trace has {expected:.4f}; it was made with "
            "hooks that change activations, so use a trace without them"
        )


def _attention(
    model: Transformer, kind: AttentionKind, layer: int
) -> tuple[MultiHeadAttention, str]:
    """Return the module of a kind and layer, and its name in model and trace."""
    site, n_layers = SITES[checked_kind(kind)], model.config.n_layers
    if not 0 <= operator.index(layer) < n_layers:
        raise ValueError(f"there is no layer {layer}; the layers are 0 to {n_layers - 1}")
    name = site.format(layer).removesuffix(".")
    module = model.get_submodule(name)
    assert isinstance(module, MultiHeadAttention)
    return module, name


def _sublayers(model: Transformer, stack: Stack) -> Iterator[tuple[int, str]]:
    names = ("self_attn", "cross_attn", "ffn") if stack == "decoder" else ("self_attn", "ffn")
    return ((layer, name) for layer in range(model.config.n_layers) for name in names)


def _head_outputs(
    model: Transformer, trace: Trace, kind: AttentionKind, layer: int
) -> tuple[Float[np.ndarray, "heads length d_model"], Float[np.ndarray, " d_model"]]:
    """Return the outputs of all heads after W^O, and the bias b^O, 0 without one."""
    module, site = _attention(model, kind, layer)
    w_o = to_array(module.w_o).astype(np.float64).T.reshape(module.n_heads, -1, module.d_model)
    bias = np.zeros(module.d_model) if module.b_o is None else to_array(module.b_o)
    return trace[f"{site}.hook_heads"].astype(np.float64) @ w_o, bias


def _through_norm(
    model: Transformer, trace: Trace, site: str, vectors: Numbers, bias: Numbers
) -> tuple[Numbers, Numbers]:
    """Return parts and bias after the LayerNorm of a sublayer, with the standard deviation of this
    pass: (length, 1), so that the bias gets a length."""
    norm = add_and_norm(model, site).norm
    total = trace[f"{site}_norm.hook_sum"].astype(np.float64)
    gain = to_array(norm.weight) / np.sqrt(total.var(axis=-1, keepdims=True) + norm.eps)

    def scaled(x: Numbers) -> Numbers:
        return np.asarray((x - x.mean(axis=-1, keepdims=True)) * gain)

    return scaled(vectors), scaled(bias) + to_array(norm.bias)
