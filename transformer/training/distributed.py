"""Several processes train one model: each takes a share of every batch, gradients are summed.

`torchrun --nproc-per-node=2 -m transformer train …` starts them; torchrun sets RANK, WORLD_SIZE and
the address they meet at. Gloo on CPUs, NCCL on GPUs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True)
class World:
    """Which of how many processes this is."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """The first process writes the files and speaks to the user."""
        return self.rank == 0

    def sum_(self, tensors: list[Tensor]) -> None:
        """Put the sum over all processes into every tensor, in one exchange."""
        if self.size == 1:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(flat)
        offset = 0
        for tensor in tensors:
            tensor.copy_(flat[offset : offset + tensor.numel()].view_as(tensor))
            offset += tensor.numel()

    def agree(self, values: list[float], device: torch.device) -> list[float]:
        """The first process's values, on all: clocks and signals differ between processes."""
        if self.size == 1:
            return values
        shared = torch.tensor(values, dtype=torch.float64)
        shared = shared.to(device) if device.type == "cuda" else shared
        dist.broadcast(shared, src=0)
        return [float(value) for value in shared]

    def wait(self) -> None:
        """Until every process is here."""
        if self.size > 1:
            dist.barrier()


@contextmanager
def join_world(device: torch.device) -> Iterator[World]:
    """The processes that torchrun started, or this one alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield World()
        return
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield World(dist.get_rank(), size)
    finally:
        dist.destroy_process_group()
