"""A pretend accelerator on the CPU, which refuses what a real one would refuse.

    python -m tests.pretend_device cuda     # an NVIDIA GPU
    python -m tests.pretend_device mps      # an Apple GPU, which has no float64

runs loading, translation, traces, hooks, analyses and training steps on it. Tensors of the device
compute on the CPU. Mixing them with CPU tensors, converting them to numpy and, on an Apple GPU,
float64 raise the errors of the real device. It does not check speed, memory or kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

backend_registration._setup_privateuseone_for_python_backend("pretend")
torch.pretend.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]  # type: ignore[attr-defined]
DEVICE = torch.device("pretend:0")
ROOT = Path(__file__).resolve().parents[1]
INDEX_OPERATIONS = ("aten.index.", "aten.index_put", "aten._index_put", "aten._unsafe_index")
COPY_OPERATIONS = ("aten._to_copy", "aten.copy_")


class PretendTensor(torch.Tensor):
    """A tensor that says it is on `DEVICE`; `on_cpu` has its values."""

    on_cpu: Tensor

    @staticmethod
    def __new__(cls, on_cpu: Tensor) -> Self:
        wrapper = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            on_cpu.size(),
            strides=on_cpu.stride(),
            storage_offset=on_cpu.storage_offset(),
            dtype=on_cpu.dtype,
            layout=on_cpu.layout,
            device=DEVICE,
        )
        wrapper.on_cpu = on_cpu
        return wrapper

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, operation: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return dispatch(operation, args, kwargs or {})


class PretendMode(TorchDispatchMode):
    """Sees operations that create tensors, which have no tensor among their arguments."""

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        return dispatch(operation, args, kwargs or {})


has_float64 = True


def on_cpu(value: Any) -> Any:
    return value.on_cpu if isinstance(value, PretendTensor) else value


def dispatch(operation: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Run an operation on the CPU; its result is on the device if its arguments are."""
    name = str(operation)
    tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, Tensor)]
    device = kwargs.get("device")
    on_device = any(isinstance(t, PretendTensor) for t in tensors)
    if on_device and not name.startswith(COPY_OPERATIONS):
        _check_devices(name, args, tensors)
    if device is not None:
        on_device = torch.device(device).type == "pretend"
    elif name.startswith("aten.copy_"):
        on_device = isinstance(args[0], PretendTensor)
    cpu_args, cpu_kwargs = tree_map(on_cpu, (args, dict(kwargs)))
    if device is not None:
        cpu_kwargs["device"] = torch.device("cpu")
    result = operation(*cpu_args, **cpu_kwargs)

    def wrap(value: Any) -> Any:
        if not isinstance(value, Tensor) or not on_device:
            return value
        if value.dtype == torch.float64 and not has_float64:
            raise TypeError("the MPS framework does not support float64")
        for tensor in tensors:  # an operation in place returns its argument
            if isinstance(tensor, PretendTensor) and tensor.on_cpu is value:
                return tensor
        return PretendTensor(value)

    return tree_map(wrap, result)


def _check_devices(name: str, args: Sequence[Any], tensors: Sequence[Tensor]) -> None:
    """Raise RuntimeError if CPU tensors and tensors of the device are mixed."""
    is_index = name.startswith(INDEX_OPERATIONS)
    if is_index and not isinstance(args[0], PretendTensor):
        raise RuntimeError(f"indices are on the device, the indexed tensor is on the CPU ({name})")
    for tensor in tensors:
        is_cpu_index = is_index and tensor is not args[0]
        if not isinstance(tensor, PretendTensor) and tensor.dim() and not is_cpu_index:
            shapes = [tuple(t.shape) for t in tensors]
            raise RuntimeError(f"expected all tensors on the same device ({name}, {shapes})")


def install(kind: str) -> None:
    """Make `choose_device` return the pretend device, and let its tensors refuse numpy."""
    global has_float64
    has_float64 = kind != "mps"
    torch.inference_mode = torch.no_grad  # type: ignore[misc, assignment]
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    import transformer.device

    choose = transformer.device.choose_device
    transformer.device.choose_device = lambda name="auto": (
        DEVICE if name in ("auto", "pretend") else choose(name)
    )
    for method in ("numpy", "__array__"):
        setattr(torch.Tensor, method, _refusing(getattr(torch.Tensor, method)))
    to_list = torch.Tensor.tolist
    torch.Tensor.tolist = lambda self: to_list(on_cpu(self).detach())  # type: ignore[method-assign]
    make = torch.tensor

    def tensor(
        data: Any, *, device: Any = None, requires_grad: bool = False, **options: Any
    ) -> Any:
        made = make(data, **options)
        if device is not None and torch.device(device).type == "pretend":
            made = made.to(DEVICE)
        return made.requires_grad_() if requires_grad else made

    torch.tensor = tensor
    torch.Tensor.new_tensor = lambda self, data, **options: tensor(  # type: ignore[method-assign]
        data, device=self.device, dtype=options.get("dtype") or self.dtype
    )
    _install_indexing()
    PretendMode().__enter__()


def _install_indexing() -> None:
    """Index tensors of the device without the C++ path, which would allocate on a real device."""
    get, put = torch.Tensor.__getitem__, torch.Tensor.__setitem__

    def get_item(self: Tensor, index: Any) -> Any:
        if isinstance(self, PretendTensor):
            parts = index if isinstance(index, tuple) else (index,)
            index = tuple(
                torch.tensor(part, device=DEVICE) if isinstance(part, list) else part
                for part in parts
            )
        return get(self, index)

    def set_item(self: Tensor, index: Any, value: Any) -> None:
        is_tensor = isinstance(value, Tensor) and value.dim() > 0
        if is_tensor and isinstance(value, PretendTensor) != isinstance(self, PretendTensor):
            raise RuntimeError("the value and the tensor that it is written to are on two devices")
        if isinstance(self, PretendTensor) and not torch.is_grad_enabled():
            put(self.on_cpu, tree_map(on_cpu, index), on_cpu(value))
        else:
            put(self, index, value)

    for owner in (torch.Tensor, PretendTensor):
        owner.__getitem__ = get_item  # type: ignore[method-assign]
        owner.__setitem__ = set_item  # type: ignore[method-assign, assignment]


def _refusing(method: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, PretendTensor):
            raise TypeError("can't convert a tensor of the device to numpy; copy it to the CPU")
        return method(self, *args, **kwargs)

    return refuse


def use_everything() -> None:
    """Translate, trace, intervene, analyse and train on the device."""
    from transformer import Hooks, Translator
    from transformer.analysis.attribution import direct_logits, gradients, value_zeroing
    from transformer.analysis.corpora import Corpus, Sentence
    from transformer.analysis.importance.ablation import measure_without
    from transformer.analysis.importance.by_gradient import gradient_importances
    from transformer.analysis.inside.logit_lens import lens
    from transformer.analysis.interventions import switched_off, to_mean, uniform
    from transformer.analysis.interventions.patching_sweep import patching_sweep
    from transformer.analysis.positions.tables import reordering_effect

    translator = Translator.load(ROOT / "checkpoints/runs/toy-reverse/checkpoint", device="auto")
    assert translator.device == DEVICE
    model, text = translator.model, "a b c d"
    options: list[dict[str, Any]] = [{}, {"beam_size": 3}, {"method": "sample", "seed": 1}]
    for decoding in [*options, {"method": "sample", "seed": 1, "top_p": 0.9, "top_k": 5}]:
        assert translator.translate(text, **decoding).text
    trace = translator.trace(text)
    assert np.isfinite(trace.weights("cross", 0)).all()
    _, cache = translator.run_with_cache(text, trace.text)
    name = "encoder.hook_memory"
    put_back = Hooks({name: lambda x, _: cache[name].expand_as(x)})
    assert translator.translate(text, hooks=put_back).text == trace.text
    heads = [("cross", 0, 0), ("encoder", 1, 1)]
    for hooks in (
        switched_off(model.config, heads),
        uniform(model.config, heads),
        to_mean(model.config, heads, [trace]),
    ):
        translator.translate(text, hooks=hooks)
        translator.translate(text, hooks=hooks, beam_size=2)
    corpus = Corpus("two", (Sentence("a b c", "c b a"), Sentence("d e", "e d")))
    gradient_importances(translator, corpus)
    measure_without(translator, corpus, [heads])
    direct_logits.direct_logits(model, trace, 1)
    gradients.gradients(model, trace, 1)
    value_zeroing.joint(model, trace)
    lens(trace, translator)
    reordering_effect(translator, "a b", "b a")
    patching_sweep(translator, "a b c d", "a e c d")
    train(Translator.load(translator.folder, device="cpu").model.to(DEVICE).requires_grad_())
    print("everything ran")


def train(model: Any) -> None:
    """Take two training steps with both penalties on attention, and validate."""
    from transformer.text.batching import Batch
    from transformer.training.learner import Learner

    batch = Batch(
        src=torch.tensor([[5, 6, 7, 2], [8, 9, 2, 0]]),
        tgt_in=torch.tensor([[1, 7, 6, 5], [1, 9, 8, 0]]),
        tgt_out=torch.tensor([[7, 6, 5, 2], [9, 8, 2, 0]]),
    )
    learner = Learner(model, torch.float32)
    for _ in range(2):
        learner.compute_gradients(batch.to(DEVICE), 0.1, 0.1, 0.1)
        learner.update(0.001, 1.0)
    assert np.isfinite(learner.validate([batch]).plain)


if __name__ == "__main__":
    install(sys.argv[1])
    use_everything()
