"""A pretend accelerator on the CPU, which refuses what a real one would refuse.

    python -m tests.pretend_device cuda           # an NVIDIA GPU
    python -m tests.pretend_device mps            # an Apple GPU, which has no float64
    python -m tests.pretend_device cuda default   # as `torch.set_default_device`; takes seconds

The first two run everything that computes with a model on it (`tests/device_checks.py`), and
then with a model on the CPU while it is PyTorch's default device. Tensors of the
device compute on the CPU. Mixing them with CPU tensors, drawing them from a generator of the CPU,
converting them to numpy and, on an Apple GPU, float64 raise the errors of the real device, which
also has random numbers of its own. It does not check speed, memory or kernels.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

backend_registration._setup_privateuseone_for_python_backend("pretend")
module: Any = torch.pretend  # type: ignore[attr-defined]
module.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]
module.device_count = lambda: 1  # `torch.random.fork_rng` restores the generators of all devices
module.get_rng_state = lambda device=None: random_state
module.set_rng_state = lambda state, device=None: _set_random_state(state)
module._is_in_bad_fork = lambda: False
module.manual_seed_all = lambda seed: _set_random_state(_first_state(seed))
DEVICE = torch.device("pretend:0")
TOY = Path(__file__).resolve().parents[1] / "checkpoints/runs/toy-reverse/checkpoint"
INDEX_OPERATIONS = ("aten.index.", "aten.index_put", "aten._index_put", "aten._unsafe_index")
COPY_OPERATIONS = ("aten._to_copy", "aten.copy_")
random_state: Tensor  # of the device's generator


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


def _first_state(seed: int) -> Tensor:
    """Return the state of the device's generator, which draws other numbers than the CPU's."""
    return torch.Generator().manual_seed(seed ^ 1).get_state()


def _set_random_state(state: Tensor) -> None:
    global random_state
    random_state = state.clone()


@contextmanager
def device_generator() -> Iterator[None]:
    """Draw random numbers in the block from the generator of the device."""
    cpu_state = torch.default_generator.get_state()
    torch.default_generator.set_state(random_state)
    try:
        yield
    finally:
        _set_random_state(torch.default_generator.get_state())
        torch.default_generator.set_state(cpu_state)


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
    if device is not None and on_device:
        cpu_kwargs["device"] = torch.device("cpu")
    draws = on_device and torch.Tag.nondeterministic_seeded in operation.tags
    if draws and any(isinstance(value, torch.Generator) for value in (*args, *kwargs.values())):
        raise RuntimeError("Expected a 'pretend' device type for generator but found 'cpu'")
    with device_generator() if draws else nullcontext():
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
    import transformer.inference.device

    choose = transformer.inference.device.choose_device

    def choose_pretended(name: str = "auto") -> torch.device:
        return DEVICE if name in ("auto", "pretend") else choose(name)

    for module in [*sys.modules.values()]:  # those that have imported it already, too
        if getattr(module, "choose_device", None) is choose:
            module.choose_device = choose_pretended  # type: ignore[attr-defined]
    for method in ("numpy", "__array__"):
        setattr(torch.Tensor, method, _refusing(getattr(torch.Tensor, method)))
    to_list = torch.Tensor.tolist
    torch.Tensor.tolist = lambda self: to_list(on_cpu(self).detach())  # type: ignore[method-assign]
    make = torch.tensor

    def tensor(
        data: Any, *, device: Any = None, requires_grad: bool = False, **options: Any
    ) -> Any:
        made = make(data, **options, device="cpu")
        if torch.device(device or torch.empty(0).device).type == "pretend":
            made = made.to(DEVICE)
        return made.requires_grad_() if requires_grad else made

    torch.tensor = tensor
    torch.Tensor.new_tensor = lambda self, data, **options: tensor(  # type: ignore[method-assign]
        data, device=self.device, dtype=options.get("dtype") or self.dtype
    )
    _install_indexing()
    _set_random_state(_first_state(0))
    PretendMode().__enter__()


def _install_indexing() -> None:
    """Index tensors of the device without the C++ path, which would allocate on a real device."""
    get, put = torch.Tensor.__getitem__, torch.Tensor.__setitem__

    def get_item(self: Tensor, index: Any) -> Any:
        if isinstance(self, PretendTensor):
            parts = index if isinstance(index, tuple) else (index,)
            index = tuple(
                torch.tensor(part, device=DEVICE, dtype=None if part else torch.long)
                if isinstance(part, list | range)
                else part
                for part in parts
            )
        return get(self, index)

    def set_item(self: Tensor, index: Any, value: Any) -> None:
        is_tensor = isinstance(value, Tensor) and value.dim() > 0
        if is_tensor and isinstance(value, PretendTensor) != isinstance(self, PretendTensor):
            parts = index if isinstance(index, tuple) else (index,)
            if any(isinstance(part, Tensor | list | range) for part in parts):
                raise RuntimeError("the values and the indexed tensor are on two devices")
            value = value.to(self.device)  # into a slice, tensors of other devices are copied
        needs_graph = torch.is_grad_enabled() and (self.requires_grad or is_tensor)
        if isinstance(self, PretendTensor) and not needs_graph:
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
    """Run all checks with a model on the device, and with one on the CPU while new tensors are on
    the device by default."""
    from tests.device_checks import CHECKS
    from transformer import Translator

    for name in ("auto", "cpu"):
        if name == "cpu":
            torch.set_default_device(DEVICE)
        translator = Translator.load(TOY, device=name)
        assert (translator.device == DEVICE) == (name == "auto")
        for check in CHECKS:
            check(translator)
            print(name, check.__name__, flush=True)
    print("everything ran")


def use_as_default_device() -> None:
    """Compare results on the device and on the CPU, while new tensors are on the device by default,
    with those on the CPU without a default device."""
    texts, loss = results("cpu")
    torch.set_default_device(DEVICE)
    for name in ("auto", "cpu"):
        texts_by_default, loss_by_default = results(name)
        assert texts_by_default == texts
        assert abs(loss_by_default - loss) < 1e-4
    print("everything ran")


def results(device: str) -> tuple[list[str], float]:
    """Return translations by all methods, the text of a trace, and the first loss of a training."""
    from transformer import Translator

    translator = Translator.load(TOY, device=device)
    options: list[dict[str, Any]] = [{}, {"beam_size": 2}, {"method": "sample", "seed": 1}]
    texts = [translator.translate("a b c", **chosen).text for chosen in options]
    return [*texts, translator.trace("a b c").text], train(device)


def train(device: str) -> float:
    """Train two steps, with evaluations; return the first loss."""
    from transformer.training.recipe import make_run_config
    from transformer.training.run_folder import RunFolder
    from transformer.training.train_folder import train_run

    sizes: dict[str, Any] = {"d_model": 8, "n_layers": 1, "n_heads": 2, "d_ff": 8, "dropout": 0.0}
    settings = {**sizes, "steps": 2, "batch_tokens": 100, "precision": "fp32"}
    options = {"n_train": 20, "n_valid": 4}
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(folder)
        run.write_config(
            make_run_config("reverse", settings=settings, options=options, device=device)
        )
        assert train_run(run.path) == "finished", run.state()["reason"]
        return next(float(line["loss"]) for line in run.metrics() if "loss" in line)


if __name__ == "__main__":
    install(sys.argv[1])
    if "default" in sys.argv:
        use_as_default_device()
    else:
        use_everything()
