"""One model being trained: its exact weights, a fast working copy, and Adam."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from transformer.hooks import Hooks
from transformer.model import Transformer
from transformer.model.attention import padding_mask, target_mask
from transformer.text.batching import Batch
from transformer.training.distributed import World
from transformer.training.fast import use_byte_dropout
from transformer.training.loss import AttentionPrice, smoothed_cross_entropy


@dataclass(frozen=True)
class Sums:
    """Totals over the target positions of a batch, on all processes together."""

    smoothed: float  # nats, label-smoothed
    plain: float  # nats, negative log-likelihood
    positions: int


Model = TypeVar("Model", bound=nn.Module)


class MixedPrecision(Generic[Model]):
    """A model's exact weights in float32, a working copy in `dtype`, and Adam.

    Casting all weights once a step is cheaper than autocast, which casts at every use, and small
    updates are not lost to rounding (Micikevicius et al. 2018, "Mixed Precision Training").
    """

    def __init__(self, model: Model, dtype: torch.dtype) -> None:
        self.model = model
        self.working = model if dtype == torch.float32 else copy.deepcopy(model).to(dtype)
        use_byte_dropout(self.working)
        self._exact: list[Tensor] = list(model.parameters())
        self._copies: list[Tensor] = list(self.working.parameters())
        self._device = self._exact[0].device
        # Section 5.3. PyTorch adds epsilon to √v̂, as Kingma and Ba (2015) do in their algorithm 1.
        self.adam = torch.optim.Adam(
            self._exact, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=self._device.type != "mps"
        )

    def update(self, rate: float, clip_norm: float) -> float:
        """One Adam step at this learning rate; returns the gradient's norm before clipping."""
        limit = clip_norm or float("inf")
        norm = float(torch.nn.utils.clip_grad_norm_(self._exact, limit))
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.adam.step()
        self.copy_weights()
        return norm

    @torch.no_grad()
    def copy_weights(self) -> None:
        """Bring the working copy up to the exact weights."""
        if self.working is not self.model:
            torch._foreach_copy_(self._copies, self._exact)

    def tensors(self) -> dict[str, Tensor]:
        """Everything a resumed run needs, by name: weights and, after a step, Adam's moments."""
        found: dict[str, Tensor] = {}
        for name, weight in self.model.named_parameters():
            found[f"weight.{name}"] = weight.detach()
            for key, value in self.adam.state.get(weight, {}).items():
                found[f"adam.{key}.{name}"] = value
        return found

    def shapes(self) -> dict[str, torch.Size]:
        """The names and shapes that `load_tensors` needs."""
        shapes: dict[str, torch.Size] = {}
        for name, weight in self.model.named_parameters():
            shapes[f"weight.{name}"] = weight.shape
            shapes[f"adam.step.{name}"] = torch.Size()
            shapes[f"adam.exp_avg.{name}"] = shapes[f"adam.exp_avg_sq.{name}"] = weight.shape
        return shapes

    @torch.no_grad()
    def load_tensors(self, found: dict[str, Tensor]) -> None:
        """The inverse of `tensors`; `found` has everything of `shapes`."""
        fused = self.adam.defaults["fused"]
        for name, weight in self.model.named_parameters():
            weight.copy_(found[f"weight.{name}"])
            self.adam.state[weight] = {
                # Adam counts its steps on the CPU, the fused kernel where the weights are.
                "step": found[f"adam.step.{name}"].to(weight.device if fused else "cpu"),
                "exp_avg": found[f"adam.exp_avg.{name}"].to(weight.device),
                "exp_avg_sq": found[f"adam.exp_avg_sq.{name}"].to(weight.device),
            }
        self.copy_weights()


class Learner(MixedPrecision[Transformer]):
    """Forward and backward of the paper's model run on the working copy, on several processes."""

    def __init__(self, model: Transformer, dtype: torch.dtype, world: World) -> None:
        super().__init__(model, dtype)
        self.world = world

    def gradients(
        self,
        batch: Batch | None,
        positions: int,
        smoothing: float,
        blur_price: float = 0.0,
        likeness_price: float = 0.0,
    ) -> Sums:
        """Set `.grad` of the exact weights to the mean loss's gradient over the global batch.

        Args:
            batch: this process's share; None if there is nothing for it.
            positions: target positions of the whole batch, over all processes.
            blur_price, likeness_price: of attention (`AttentionPrice`), in nats; `Sums` has the
                loss without them.
        """
        sums = torch.zeros(2, device=self._device)
        if not self.working.training:  # asked first: to say it to every module takes a millisecond
            self.working.train()
        for weight in self._copies:
            weight.grad = None
        if batch is not None:
            price = None
            if blur_price or likeness_price:
                src, tgt = (ids != self.model.config.pad_id for ids in (batch.src, batch.tgt_out))
                n_layers = self.model.config.n_layers
                price = AttentionPrice(n_layers, src, tgt, blur=blur_price, likeness=likeness_price)
            smoothed, plain = self._loss(batch, smoothing, price.hooks if price else None)
            loss = smoothed / positions
            if price:
                share = tgt.sum() / positions  # of this process
                loss = loss + share * price.mean()
            loss.backward()
            sums = torch.stack([smoothed.detach(), plain])
        gradients = []
        for exact, weight in zip(self._exact, self._copies, strict=True):
            gradient = torch.zeros_like(exact) if weight.grad is None else weight.grad.float()
            exact.grad = gradient
            gradients.append(gradient)
        self.world.all_reduce([sums, *gradients])
        smoothed, plain = sums.tolist()
        return Sums(smoothed, plain, positions)

    @torch.no_grad()
    def validate(self, batches: Iterable[Batch], positions: int) -> Sums:
        """Loss without dropout or smoothing, summed over every process's share of the batches.

        Args:
            batches: this process's share.
            positions: target positions of all shares together.
        """
        sums = torch.zeros(2, device=self._device)
        self.working.eval()
        for batch in batches:
            sums += torch.stack(self._loss(batch.to(self._device), 0.0))
        self.world.all_reduce([sums])
        smoothed, plain = sums.tolist()
        return Sums(smoothed, plain, positions)

    def _loss(
        self, batch: Batch, smoothing: float, hooks: Hooks | None = None
    ) -> tuple[Tensor, Tensor]:
        model, pad_id = self.working, self.model.config.pad_id
        src_mask = padding_mask(batch.src, pad_id)
        memory = model.encode(batch.src, src_mask, hooks)
        states = model.decode(
            batch.tgt_in, memory, src_mask, target_mask(batch.tgt_in, pad_id), hooks
        )
        return smoothed_cross_entropy(
            states,
            model.embedding.weight,
            batch.tgt_out,
            smoothing=smoothing,
            pad_id=pad_id,
            bias=model.output_bias,
        )
