"""Decoding in float32 on a CPU with ONNX Runtime (https://onnxruntime.ai).

It runs the graphs of `onnx_graphs.py`, which takes a fraction of the time of the same modules in
PyTorch: a step of a small model is hundreds of short operations, whose calls cost more than their
arithmetic.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import torch
import xxhash
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer.cancellation import check_cancelled
from transformer.hooks import HookPoint
from transformer.inference.next_tokens import NextTokens, n_candidates
from transformer.model import Transformer

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

_sessions: WeakSet[InferenceSession] = WeakSet()


def _keep_sessions_of_parent() -> None:
    """Never destroy a session in a forked process, where it would wait for its threads, which only
    the parent has. A forked process has one thread (`translator`) and loads its own session."""
    for session in _sessions:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_sessions_of_parent)


class OnnxModel:
    """A model in ONNX Runtime. Safe to share between threads.

    It holds packed copies of the weights, which are renewed when the model has been edited, or when
    the number of PyTorch's threads has changed, which ONNX Runtime uses too.
    """

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._loaded: dict[str, tuple[bytes, int, list[InferenceSession]]] = {}

    @staticmethod
    def supports(model: Transformer) -> bool:
        """Return whether all weights are float32 and on the CPU."""
        return all(
            weight.device.type == "cpu" and weight.dtype == torch.float32
            for weight in model.parameters()
        )

    def encode(
        self, src: Int[Tensor, "rows src"], src_mask: Bool[Tensor, "rows 1 1 src"]
    ) -> Float[Tensor, "rows src d_model"]:
        """Return the memory of padded sources."""
        check_cancelled()
        embedded = self.model.encoder.embed(self.model.embed(src))
        inputs = {"embedded": _array(embedded), "mask": _additive_mask(src_mask)}
        return torch.from_numpy(self.loaded("encoder")[0].run(["states"], inputs)[0])

    def loaded(self, part: Literal["encoder", "decoder"]) -> list[InferenceSession]:
        """Return the encoder, or the two graphs of the decoder, of the model as it is now."""
        weights = [*_weights(self.model.get_submodule(f"{part}.layers"))]
        if part == "decoder":
            bias = self.model.output_bias
            weights += [self.model.embedding.weight, *([] if bias is None else [bias])]
        content, threads = _content_hash(weights), torch.get_num_threads()
        with self._lock:
            loaded = self._loaded.get(part)
            if loaded is None or loaded[:2] != (content, threads):
                loaded = content, threads, _load(self.model, part, threads)
                self._loaded[part] = loaded
            return loaded[2]


class OnnxSession:
    """`Session` in ONNX Runtime; keys and values are cached as in `CachedSession`."""

    def __init__(
        self,
        onnx_model: OnnxModel,
        memory: Float[Tensor, "rows src d_model"],
        src_mask: Bool[Tensor, "rows 1 1 src"],
    ) -> None:
        self.model, self.length = onnx_model.model, 0
        memory_session, self.step_session = onnx_model.loaded("decoder")
        config = self.model.config
        # Arrays of the step's graph by name, with one row for each output.
        cross_names = [output.name for output in memory_session.get_outputs()]
        cross_keys_values = memory_session.run(cross_names, {"states": _array(memory)})
        self.sources = list(range(len(memory)))  # index of the source of each row
        self.memory = {"mask": _additive_mask(src_mask)}
        self.memory |= zip(cross_names, cross_keys_values, strict=True)
        empty = np.empty((len(memory), config.n_heads, 0, config.d_k), dtype=np.float32)
        self.past = {name.replace("cross", "self"): empty for name in cross_names}
        distribution = ["log_probabilities", "top_log_probabilities", "top_ids"]
        self.output_names = [*distribution, *(f"next_{name}" for name in self.past)]

    def step(self, ids: Int[Tensor, " rows"], k: int) -> NextTokens:
        check_cancelled()
        inputs = {
            "ids": ids.numpy(),
            "position": _array(self.model.decoder.embed.positions(1, self.length)),
            "k": np.array([n_candidates(self.model.config, k)]),
            **self.memory,
            **self.past,
        }
        log_probabilities, top_log_probabilities, top_ids, *past = self.step_session.run(
            self.output_names, inputs
        )
        self.past = dict(zip(self.past, past, strict=True))
        self.length += 1
        return NextTokens(
            *map(torch.from_numpy, (log_probabilities, top_log_probabilities, top_ids))
        )

    def select(self, rows: list[int]) -> None:
        if rows == list(range(len(self.memory["mask"]))):
            return
        self.past = {name: array[rows] for name, array in self.past.items()}
        sources = [self.sources[row] for row in rows]
        if sources != self.sources:  # a beam usually changes only the order of its own rows
            self.sources = sources
            self.memory = {name: array[rows] for name, array in self.memory.items()}


def _additive_mask(mask: Bool[Tensor, "rows 1 1 src"]) -> Float[np.ndarray, "rows 1 1 src"]:
    """Return 0 where the mask is True, else -∞."""
    zeros = torch.zeros(mask.shape, dtype=torch.float32, device=mask.device)
    return _array(zeros.masked_fill_(~mask, -torch.inf))


def _array(tensor: Tensor) -> npt.NDArray[Any]:
    return tensor.detach().numpy()


def _load(
    model: Transformer, part: Literal["encoder", "decoder"], threads: int
) -> list[InferenceSession]:
    """Load the graphs of a part; ONNX Runtime packs the matrices for its products."""
    # When it is imported, it would write an identity of this machine into ~/.cache/Microsoft and
    # report its use to Microsoft.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    from transformer.inference.onnx_graphs import encoder_graph, memory_graph, step_graph

    sessions = []
    for build_graph in [encoder_graph] if part == "encoder" else [memory_graph, step_graph]:
        graph = build_graph(model)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # Idle threads sleep, since other sessions need the cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = False  # an arena would keep the memory of the largest batch
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(w) for w in graph.weights.values()]
        options.add_external_initializers(list(graph.weights), values)
        sessions.append(
            onnxruntime.InferenceSession(graph.model, options, providers=["CPUExecutionProvider"])
        )
    _sessions.update(sessions)
    return sessions


def _content_hash(weights: Iterable[Tensor]) -> bytes:
    """Return a hash of all weights. PyTorch does not count edits through `.data` or NumPy, so only
    the content tells; xxHash reads it as fast as the memory allows, in one thread."""
    digest = xxhash.xxh3_128()
    for weight in weights:
        digest.update(np.ascontiguousarray(_array(weight)).data)
    return digest.digest()


def _weights(module: nn.Module) -> Iterator[Tensor]:
    """Yield what `module.parameters()` yields, in a tenth of its time."""
    yield from (weight for weight in module._parameters.values() if weight is not None)
    for child in module._modules.values():
        if child is not None and not isinstance(child, HookPoint):
            yield from _weights(child)
