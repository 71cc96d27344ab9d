"""Decoding in float32 on a CPU with ONNX Runtime (https://onnxruntime.ai).

It runs the graphs of `onnx_graphs.py`, which takes a fraction of the time of the same modules in
PyTorch: a step of a small model is hundreds of short operations, whose calls cost more than their
arithmetic.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from transformer.cancellation import check_cancelled
from transformer.hooks import HookPoint
from transformer.inference.sessions import project_memory
from transformer.model import Transformer

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Stamp = tuple[tuple[int, int, int], ...]

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
        self._loaded: dict[str, tuple[Stamp, int, InferenceSession]] = {}

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
        return torch.from_numpy(self.loaded("encoder").run(["states"], inputs)[0])

    def loaded(self, name: str) -> InferenceSession:
        """Return the "encoder" or the "step" of the model as it is now."""
        stack = self.model.encoder.layers if name == "encoder" else self.model.decoder.layers
        weights = [*_weights(stack)]
        if name == "step":
            bias = self.model.output_bias
            weights += [self.model.embedding.weight, *([] if bias is None else [bias])]
        stamp, threads = _stamp(weights), torch.get_num_threads()
        with self._lock:
            loaded = self._loaded.get(name)
            if loaded is None or loaded[:2] != (stamp, threads):
                loaded = stamp, threads, _load(self.model, name, threads)
                self._loaded[name] = loaded
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
        self.step_session = onnx_model.loaded("step")
        config = self.model.config
        # Arrays of the step's graph by name, with one row for each output.
        self.memory = {"mask": _additive_mask(src_mask)}
        self.past: dict[str, npt.NDArray[np.float32]] = {}
        empty = np.empty((len(memory), config.n_heads, 0, config.d_k), dtype=np.float32)
        for index, keys_values in enumerate(project_memory(self.model, memory)):
            for name, tensor in zip(("key", "value"), keys_values, strict=True):
                self.memory[f"cross_{name}_{index}"] = _array(tensor.contiguous())
                self.past[f"self_{name}_{index}"] = empty
        self.output_names = ["logits", *(f"next_{name}" for name in self.past)]

    def step(self, ids: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        check_cancelled()
        embedded = self.model.decoder.embed(self.model.embed(ids[:, None]), start=self.length)
        inputs = {"embedded": _array(embedded), **self.memory, **self.past}
        logits, *past = self.step_session.run(self.output_names, inputs)
        self.past = dict(zip(self.past, past, strict=True))
        self.length += 1
        return torch.from_numpy(logits)

    def select(self, rows: list[int]) -> None:
        if rows == list(range(len(self.memory["mask"]))):
            return
        self.past = {name: array[rows] for name, array in self.past.items()}
        self.memory = {name: array[rows] for name, array in self.memory.items()}


def _additive_mask(mask: Bool[Tensor, "rows 1 1 src"]) -> Float[np.ndarray, "rows 1 1 src"]:
    """Return 0 where the mask is True, else -∞."""
    return _array(torch.zeros(mask.shape, dtype=torch.float32).masked_fill_(~mask, -torch.inf))


def _array(tensor: Tensor) -> npt.NDArray[Any]:
    return tensor.detach().numpy()


def _load(model: Transformer, name: str, threads: int) -> InferenceSession:
    """Load the "encoder" or "step" graph; ONNX Runtime packs the matrices for its products."""
    # When it is imported, it would write an identity of this machine into ~/.cache/Microsoft and
    # report its use to Microsoft.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    from transformer.inference.onnx_graphs import encoder_graph, step_graph

    graph = encoder_graph(model) if name == "encoder" else step_graph(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Idle threads sleep, since other sessions need the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False  # an arena would keep the memory of the largest batch
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in graph.weights.values()]
    options.add_external_initializers(list(graph.weights), values)
    session = onnxruntime.InferenceSession(graph.model, options, providers=["CPUExecutionProvider"])
    _sessions.add(session)
    return session


@torch.no_grad()
def _stamp(weights: list[Tensor]) -> Stamp:
    """Return a value that changes when a weight is edited: PyTorch counts in-place edits, except
    those through `.data`, which the sum of all bits detects."""
    return tuple(
        (
            weight.data_ptr(),
            0 if weight.is_inference() else weight._version,
            int(weight.view(torch.int32).sum(dtype=torch.int32)),
        )
        for weight in weights
    )


def _weights(module: nn.Module) -> Iterator[Tensor]:
    """Yield what `module.parameters()` yields, in a tenth of its time."""
    yield from (weight for weight in module._parameters.values() if weight is not None)
    for child in module._modules.values():
        if child is not None and not isinstance(child, HookPoint):
            yield from _weights(child)
