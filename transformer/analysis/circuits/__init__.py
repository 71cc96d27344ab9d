"""Circuits: which heads pass information to which others, and when that forms in training.

`graph` defines nodes and edges, `example_pairs` chooses clean and corrupted examples,
`edge_attribution` estimates the effect of all edges from gradients, `edge_patching` measures that
of single ones, `connections` puts both into one table, `run_connections` does so at every saved
step of a training run.
"""

from transformer.analysis.circuits.connections import Connections, find_connections
from transformer.analysis.circuits.edge_attribution import edge_attribution
from transformer.analysis.circuits.edge_patching import patched_effects
from transformer.analysis.circuits.example_pairs import ExamplePairs, pair_examples
from transformer.analysis.circuits.graph import CircuitNode, Edge, all_edges, all_nodes

__all__ = [
    "CircuitNode",
    "Connections",
    "Edge",
    "ExamplePairs",
    "all_edges",
    "all_nodes",
    "edge_attribution",
    "find_connections",
    "pair_examples",
    "patched_effects",
]
