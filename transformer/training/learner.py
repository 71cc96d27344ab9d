"""A model in training: float32 master weights, a working copy in the training dtype, and Adam; the
threads, number formats and random seeds that its numbers depend on."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from transformer.hooks import Hooks
from transformer.model import Transformer
from transformer.model.attention import padding_mask, target_mask
from transformer.text.batching import Batch
from transformer.text.files import atomic_path
from transformer.training.adam import Adam
from transformer.training.loss import (
    AttentionRegularizer,
    smoothed_cross_entropy,
    symmetric_divergence,
    token_logits,
)
from transformer.training.packed_rows import PackedBatch, PackedInput
from transformer.training.run_folder import LoopState, RunFolder

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
"""Number formats by the name that `TrainingConfig.precision` has."""

N_SEEDS = 1 << 63  # seeds of torch's generators are below this number


@dataclass(frozen=True)
class LossTotals:
    """Sums over the target positions of a batch."""

    smoothed: float  # nats, label-smoothed
    plain: float  # nats, negative log-likelihood
    positions: int


Model = TypeVar("Model", bound=nn.Module)


class MixedPrecision(Generic[Model]):
    """A model's float32 master weights, a working copy in `dtype`, and Adam.

    Casting all weights once per step is faster than autocast, which casts at every use. Float32
    master weights keep small updates that bf16 would round away (Micikevicius et al. 2018, "Mixed
    Precision Training").
    """

    def __init__(self, model: Model, dtype: torch.dtype, weight_decay: float = 0.0) -> None:
        self.model = model
        self.working = model if dtype == torch.float32 else copy.deepcopy(model).to(dtype)
        self._master_weights: list[Tensor] = list(model.parameters())
        self._working_weights: list[Tensor] = list(self.working.parameters())
        self._device = self._master_weights[0].device
        # Section 5.3. PyTorch adds epsilon to √v̂, as in algorithm 1 of Kingma and Ba (2015).
        self.adam = Adam(
            self._master_weights,
            lr=0.0,
            betas=(0.9, 0.98),
            eps=1e-9,
            weight_decay=weight_decay,
            decoupled_weight_decay=True,  # AdamW
            fused=self._device.type != "mps",
        )

    def update(self, rate: float, clip_norm: float) -> float:
        """Take one Adam step at this learning rate; return the gradient norm before clipping."""
        max_norm = clip_norm or float("inf")
        norm = float(torch.nn.utils.clip_grad_norm_(self._master_weights, max_norm))
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.adam.step()
        self.copy_weights()
        return norm

    @torch.no_grad()
    def copy_weights(self) -> None:
        """Copy the master weights into the working copy."""
        if self.working is not self.model:
            torch._foreach_copy_(self._working_weights, self._master_weights)

    def save(self, run: RunFolder, loop: LoopState) -> None:
        """Write weights, Adam's moments and loop state to the resume file. Raises OSError."""
        tensors = {name: tensor.cpu().contiguous() for name, tensor in self.tensors().items()}
        save_tensors(tensors, run.resume_path, {"progress": json.dumps(asdict(loop))})

    def load(self, run: RunFolder) -> None:
        """Load what `save` wrote.

        Raises RunError if the file is truncated or belongs to another model.
        """
        try:
            saved = load_file(run.resume_path)
        except (SafetensorError, OSError) as error:
            raise run.resume_error(f"it is truncated or not a resume file ({error})") from error
        try:
            self.load_tensors(saved)
        except ValueError as error:
            raise run.resume_error(str(error)) from error

    def tensors(self) -> dict[str, Tensor]:
        """Return what a resumed run needs by name: weights and, after a step, Adam's moments."""
        tensors: dict[str, Tensor] = {}
        for name, weight in self.model.named_parameters():
            tensors[f"weight.{name}"] = weight.detach()
            for key, value in self.adam.state.get(weight, {}).items():
                tensors[f"adam.{key}.{name}"] = value
        return tensors

    @torch.no_grad()
    def load_tensors(self, saved: dict[str, Tensor]) -> None:
        """Load the tensors of `tensors()`. Raises ValueError for one that is missing or has another
        shape."""

        def tensor(name: str, shape: torch.Size, device: torch.device) -> Tensor:
            if name not in saved or saved[name].shape != shape:
                actual = f"shape {tuple(saved[name].shape)}" if name in saved else "nothing"
                raise ValueError(f"for {name} it has {actual}, the model needs {tuple(shape)}")
            return saved[name].to(device)

        # The fused kernel needs the step count on the device of the weights.
        step_device = self._device if self.adam.defaults["fused"] else torch.device("cpu")
        for name, weight in self.model.named_parameters():
            shape = weight.shape
            weight.copy_(tensor(f"weight.{name}", shape, self._device))
            self.adam.state[weight] = {
                "step": tensor(f"adam.step.{name}", torch.Size(), step_device),
                "exp_avg": tensor(f"adam.exp_avg.{name}", shape, self._device),
                "exp_avg_sq": tensor(f"adam.exp_avg_sq.{name}", shape, self._device),
            }
        self.copy_weights()


class Learner(MixedPrecision[Transformer]):
    """Computes losses and gradients of a Transformer on the working copy."""

    def compute_gradients(
        self,
        batch: Batch,
        smoothing: float,
        sharpness_penalty: float = 0.0,
        diversity_penalty: float = 0.0,
        r_drop: float = 0.0,
    ) -> LossTotals:
        """Set `.grad` of the master weights to the gradient of the mean loss of the batch.

        With `r_drop` α, the loss is half of eq. 4 of R-Drop (Liang et al. 2021, arXiv 2106.14448):
        the mean of the losses of two passes with different dropout, plus α/4 · (KL(p‖q) + KL(q‖p)).

        Args:
            smoothing: label smoothing ε_ls.
            sharpness_penalty, diversity_penalty: of `AttentionRegularizer`, in nats. The returned
                losses include neither them nor the divergence of R-Drop.
        """
        if not self.working.training:  # only if needed: train() takes a millisecond
            self.working.train()
        for weight in self._working_weights:
            weight.grad = None
        passes = 2 if r_drop else 1
        batch = batch.twice() if r_drop else batch
        src, tgt = (ids != self.model.config.pad_id for ids in (batch.src, batch.tgt_out))
        regularizer = None
        if sharpness_penalty or diversity_penalty:
            regularizer = AttentionRegularizer(
                self.model.config.n_layers,
                src,
                tgt,
                sharpness_penalty=sharpness_penalty,
                diversity_penalty=diversity_penalty,
            )
        logits, gold = self._logits(batch, regularizer.hooks if regularizer else None)
        smoothed, plain = smoothed_cross_entropy(logits, gold, smoothing)
        positions = len(gold)
        loss = smoothed / positions
        if r_drop:
            loss = loss + r_drop / 4 * symmetric_divergence(*logits.chunk(2)) / (positions / 2)
        if regularizer:
            loss = loss + regularizer.mean()
        loss.backward()
        for master_weight, weight in zip(self._master_weights, self._working_weights, strict=True):
            master_weight.grad = None if weight.grad is None else weight.grad.float()
        return LossTotals(smoothed.item() / passes, plain.item() / passes, positions // passes)

    @torch.no_grad()
    def validate(self, batches: Iterable[Batch]) -> LossTotals:
        """Return the loss of the batches without dropout and smoothing."""
        smoothed_sum = plain_sum = 0.0
        positions = 0
        self.working.eval()
        for batch in batches:
            logits, gold = self._logits(batch.to(self._device))
            smoothed, plain = smoothed_cross_entropy(logits, gold, 0.0)
            smoothed_sum += smoothed.item()
            plain_sum += plain.item()
            positions += len(gold)
        return LossTotals(smoothed_sum, plain_sum, positions)

    def _logits(self, batch: Batch, hooks: Hooks | None = None) -> tuple[Tensor, Tensor]:
        """Return the logits (tokens, vocab) of all target positions, and the ids to predict."""
        model, pad_id = self.working, self.model.config.pad_id
        if isinstance(batch, PackedBatch):
            packed = PackedInput.of(batch, model)
            src_mask, cross_mask, tgt_mask = packed.src_mask, packed.cross_mask, packed.tgt_mask
            hooks = packed.hooks
        else:
            src_mask = cross_mask = padding_mask(batch.src, pad_id)
            tgt_mask = target_mask(batch.tgt_in, pad_id)
        memory = model.encode(batch.src, src_mask, hooks)
        return token_logits(
            model.decode(batch.tgt_in, memory, cross_mask, tgt_mask, hooks),
            model.embedding.weight,
            batch.tgt_out,
            pad_id=pad_id,
            bias=model.output_bias,
        )


def save_tensors(
    tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None
) -> None:
    """Write the tensors as safetensors, atomically. Raises OSError."""
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, metadata=metadata)
        except SafetensorError as error:  # for example a full disk
            raise OSError(f"{path.name} cannot be written: {error}") from error


@contextmanager
def limit_threads(weights: int, batch_tokens: int) -> Iterator[None]:
    """Within the block, use one thread if a training step is too small to benefit from several.

    A step of a tiny model is hundreds of matrix products of a few microseconds each. A second
    thread makes them hardly faster, and if another process uses the same core, each product waits
    for the slower thread, which makes a step several times slower.
    """
    old_threads = torch.get_num_threads()
    if weights * batch_tokens < 1e9:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(old_threads)


def numeric_environment() -> dict[str, Any]:
    """Return what a run's numbers depend on besides its config.

    Threads, torch version, and vector units of the processor (they round sums differently). With
    all of them equal, the same seed gives the same model.
    """
    return {
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "units": torch.backends.cpu.get_cpu_capability(),
    }


def seed_generator(seed: int, draw: int, device: torch.device) -> None:
    """Seed torch's generator from a run's seed and `draw`, which differs for every step."""
    combined_seed = ((seed << 40) + draw) % N_SEEDS
    if device.type == "cpu":  # faster than torch.manual_seed, which seeds all devices
        torch.default_generator.manual_seed(combined_seed)
    else:
        torch.manual_seed(combined_seed)
