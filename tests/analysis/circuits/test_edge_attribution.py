"""Scores of edges: exact in a linear model, finite differences elsewhere, and a known circuit."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from tests.analysis.small_models import MARIAN, new_model
from transformer import Hooks, Translator
from transformer.analysis.circuits import (
    CircuitNode,
    Edge,
    ExamplePairs,
    all_edges,
    all_nodes,
    edge_attribution,
    pair_examples,
    patched_effects,
)
from transformer.analysis.circuits.graph import OUTPUT, edge_count
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary

EXAMPLES = [
    ("The baker paints bread.", "Le boulanger peint du pain."),
    ("The baker finds bread.", "Le boulanger trouve du pain."),
    ("The baker hides bread.", "Le boulanger cache du pain."),
]
"""Texts whose pieces are cut to equal lengths below."""


@pytest.fixture
def example_pairs(vocabulary: Vocabulary) -> ExamplePairs:
    """Return three pairs of random ids, 5 source and 4 target tokens."""
    generator = torch.Generator().manual_seed(2)
    src = torch.randint(4, len(vocabulary), (3, 5), generator=generator)
    answers = torch.randint(4, len(vocabulary), (3, 4), generator=generator)
    answers[1, 2] = answers[2, 2]  # equal in a pair: this position does not count
    tgt = torch.cat([torch.full((3, 1), vocabulary.bos_id), answers[:, :-1]], dim=1)
    return ExamplePairs(src, tgt, answers, *(x.roll(-1, dims=0) for x in (src, tgt, answers)))


@pytest.fixture(params=["the paper's", "with biases"])
def double_model(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Transformer:
    """Return a random model in double precision."""
    options = MARIAN if request.param == "with biases" else {}
    return copy.deepcopy(new_model(vocabulary, n_layers=2, n_heads=2, **options).model).double()


def make_linear(model: Transformer) -> Transformer:
    """Make every sublayer a linear function: no norms, uniform attention, no activation."""
    for module in model.modules():
        if hasattr(module, "norm"):
            module.norm = nn.Identity()
        if hasattr(module, "activation"):  # of the feed-forward networks
            module.activation = lambda x: x
        if hasattr(module, "w_qkv"):
            with torch.no_grad():
                module.w_qkv[: 2 * model.config.d_model] = 0
                if module.b_qkv is not None:
                    module.b_qkv[: 2 * model.config.d_model] = 0
    return model


def test_scores_are_exact_in_a_linear_model(
    double_model: Transformer, example_pairs: ExamplePairs
) -> None:
    model = make_linear(double_model)
    edges = all_edges(model.config)
    scores, effects = (
        edge_attribution(model, example_pairs),
        patched_effects(model, example_pairs, edges),
    )
    assert scores.keys() == set(edges)
    for edge in edges:
        assert scores[edge] == pytest.approx(effects[edge], abs=1e-9, rel=1e-9), edge
    assert sum(abs(effect) > 0.01 for effect in effects.values()) > 15
    # The output is the sum of what all nodes add to it.
    into_output = sum(score for edge, score in scores.items() if edge.downstream == OUTPUT)
    with torch.no_grad():
        clean = example_pairs.logit_difference(model(example_pairs.src, example_pairs.tgt))
        corrupted = example_pairs.logit_difference(
            model(example_pairs.corrupted_src, example_pairs.corrupted_tgt)
        )
    assert into_output == pytest.approx(float((clean - corrupted).mean()))


def test_scores_equal_finite_differences(
    double_model: Transformer, example_pairs: ExamplePairs
) -> None:
    """Of every third edge of a model with norms, softmax and activations."""
    step, edges = 1e-4, all_edges(double_model.config)[::3]
    scores = edge_attribution(double_model, example_pairs)
    up, down = (
        patched_effects(double_model, example_pairs, edges, fraction=f) for f in (step, -step)
    )
    for edge in edges:
        slope = (up[edge] - down[edge]) / (2 * step)
        assert scores[edge] == pytest.approx(slope, rel=1e-4, abs=1e-7), edge
    assert min(map(abs, scores.values())) < 0.01 < max(map(abs, scores.values()))


def test_only_the_known_circuit_has_scores(
    double_model: Transformer, example_pairs: ExamplePairs
) -> None:
    """All outputs are zero but those of one encoder and one cross head."""
    first, second = CircuitNode("encoder", "encoder", 0, 1), CircuitNode("cross", "decoder", 1, 0)
    d_k = double_model.config.d_k
    with torch.no_grad():
        for name, weight in double_model.named_parameters():
            if ".w_2." in name:
                weight.zero_()
            elif name.endswith("w_o"):
                columns = {
                    "encoder.layers.0.self_attn.w_o": slice(d_k, 2 * d_k),
                    "decoder.layers.1.cross_attn.w_o": slice(0, d_k),
                }.get(name, slice(0, 0))
                kept = weight[:, columns].clone()
                weight.zero_()
                weight[:, columns] = kept
    edges = all_edges(double_model.config)
    scores, effects = (
        edge_attribution(double_model, example_pairs),
        patched_effects(double_model, example_pairs, edges),
    )
    live = {"source", "target", first.name, second.name, "output"}
    for edge in edges:
        is_live = {edge.upstream.name, edge.downstream.name} <= live
        if not is_live:
            assert scores[edge] == pytest.approx(0, abs=1e-12)
            assert effects[edge] == pytest.approx(0, abs=1e-12)
    path = [Edge(first, second, "value"), Edge(second, OUTPUT)]
    assert all(abs(effects[edge]) > 1e-3 and abs(scores[edge]) > 1e-3 for edge in path)


def test_patching_the_only_edge_equals_patching_the_node(
    double_model: Transformer, example_pairs: ExamplePairs
) -> None:
    """The last feed-forward network is read by the output alone."""
    name = "decoder.layers.1.ffn.hook_output"
    corrupted: dict[str, torch.Tensor] = {}
    with torch.no_grad():
        record = Hooks({name: lambda x, name: corrupted.update({name: x})})
        double_model(example_pairs.corrupted_src, example_pairs.corrupted_tgt, hooks=record)
        patch = Hooks({name: lambda x, name: corrupted[name]})
        clean, patched = (
            example_pairs.logit_difference(
                double_model(example_pairs.src, example_pairs.tgt, hooks=hooks)
            )
            for hooks in (None, patch)
        )
    edge = Edge(CircuitNode("ffn", "decoder", 1), OUTPUT)
    effect = patched_effects(double_model, example_pairs, [edge])[edge]
    assert effect == pytest.approx(float((clean - patched).mean()))
    assert abs(effect) > 1e-3


def test_attribution_leaves_the_model_unchanged(
    translator: Translator, example_pairs: ExamplePairs
) -> None:
    before = {name: weight.clone() for name, weight in translator.model.named_parameters()}
    edge_attribution(translator.model, example_pairs)
    for name, weight in translator.model.named_parameters():
        assert weight.grad is None
        assert torch.equal(weight, before[name])


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (2, 4), (3, 2)])
def test_edges_are_counted(layers: int, heads: int) -> None:
    config = ModelConfig(vocab_size=9, d_model=8, n_layers=layers, n_heads=heads, d_ff=8)
    edges = all_edges(config)
    assert len(edges) == len({*edges}) == edge_count(config)
    nodes = all_nodes(config)
    assert len(nodes) == 3 + layers * (3 * heads + 2) == len({node.name for node in nodes})
    order = {node: number for number, node in enumerate(nodes)}
    assert all(order[edge.upstream] < order[edge.downstream] for edge in edges)


def test_a_large_model_is_refused(example_pairs: ExamplePairs) -> None:
    config = ModelConfig(vocab_size=40, d_model=16, n_layers=6, n_heads=8, d_ff=8)
    with pytest.raises(ValueError, match=r"^the model has 6 layers of 8 heads and so [\d,]+ edges"):
        edge_attribution(Transformer(config), example_pairs)


def test_pairs_have_equal_lengths_and_other_targets(vocabulary: Vocabulary) -> None:
    same = [("She paints.", "Elle peint."), ("She paints bread.", "Elle peint.")]
    with pytest.raises(ValueError, match="at least two"):
        pair_examples(vocabulary, same)
    with pytest.raises(ValueError, match="at least two"):
        pair_examples(vocabulary, [])
    pair = pair_examples(vocabulary, [*EXAMPLES, *EXAMPLES, ("a", "b")])
    assert 2 <= len(pair) == len(pair.texts) <= 3
    assert vocabulary.decode(pair.answers[0].tolist()) == pair.texts[0][1]
    assert torch.equal(pair.corrupted_src[0], pair.src[1])
    assert torch.equal(pair.tgt[:, 1:], pair.answers[:, :-1])
    assert bool(pair.differs.any(1).all())


def test_mismatched_pairs_are_refused(example_pairs: ExamplePairs) -> None:
    sides = (example_pairs.src, example_pairs.tgt, example_pairs.answers)
    with pytest.raises(ValueError, match=r"corrupted one \(3, 3\); both need the same number"):
        ExamplePairs(
            *sides,
            example_pairs.corrupted_src[:, :3],
            example_pairs.corrupted_tgt,
            example_pairs.answers,
        )
    with pytest.raises(ValueError, match="have the same target"):
        ExamplePairs(*sides, example_pairs.corrupted_src, example_pairs.tgt, example_pairs.answers)
